"""Chunks and elements of the library as passages, and the URIs of their pages."""

from collections.abc import Sequence
from pathlib import Path

from quinion.evidence.passages import Evidence, Passage
from quinion.ingest.library.library import Library
from quinion.ingest.library.records import CONTENT, TEXT, figure_of
from quinion.model.page import PAGE_SPANS, parse_spans
from quinion.servers.resources import fill_uri

PAGE = "library://{slug}/page/{number}{?chunk}"


class LibraryCitations:
    """Citations of doclibrary; the passage of an element is its box."""

    def __init__(self, library: Library, evidence: Evidence) -> None:
        self.evidence = evidence
        self._library = library

    async def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Return the passages of these chunks and elements; see `Citations`."""
        documents = {one.slug: one for one in await self._library.documents()}
        found = {}
        for record in await self._library.resources.collections.get(CONTENT, ids=ids):
            data = record.metadata
            document = documents.get(str(data["document_slug"]))
            if document is not None:
                is_text = data["kind"] == TEXT
                found[record.id] = Passage(
                    id=record.id,
                    text=record.text,
                    document_id=document.slug,
                    document=document.title,
                    # The original is a PDF, whatever was added, and is always kept.
                    path=Path(f"{document.slug}.pdf"),
                    sha256=document.sha256,
                    pages=(int(data["page_number"]),),
                    spans=parse_spans(str(data.get(PAGE_SPANS, ""))),
                    box=None if is_text else figure_of(record).element.box,
                )
        return found

    async def document(self, document_id: str) -> Passage | None:
        """Return a document as a passage without text; see `Citations`."""
        one = await self._library.document(document_id)
        return Passage("", "", one.slug, one.title, Path(f"{one.slug}.pdf"), one.sha256, (1,))

    def uri(self, passage: Passage, page: int) -> str:
        """Return the URI of the page with the passage marked."""
        return fill_uri(PAGE, slug=passage.document_id, number=page, chunk=passage.id)
