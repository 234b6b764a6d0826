"""Chunks of ingested documents as passages, and the URIs of their pages."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from quinion.engine import Engine
from quinion.evidence.passages import PAGED, Evidence, Passage
from quinion.model.page import PAGE_SPANS, parse_spans
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.servers.resources import fill_uri

PAGE = "documents://document/{document_id}/page/{number}{?chunk}"


class DocumentCitations:
    """Citations of the Document Store."""

    def __init__(self, engine: Engine) -> None:
        self.evidence: Evidence = engine.evidence
        self._engine = engine

    async def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Return the passages of these chunks; see `Citations`."""
        chunks = await self._engine.collections.get(CHUNKS, ids=ids)
        documents = list(dict.fromkeys(str(chunk.metadata["document_id"]) for chunk in chunks))
        registered = await self._documents(documents)
        found = {}
        for chunk in chunks:
            data = chunk.metadata
            # Another program may have stored chunks without their document.
            if document := registered.get(str(data["document_id"])):
                found[chunk.id] = replace(
                    document,
                    id=chunk.id,
                    text=chunk.text,
                    pages=tuple(map(int, str(data["page_numbers"]).split(","))),
                    spans=parse_spans(str(data.get(PAGE_SPANS, ""))),
                )
        return found

    async def document(self, document_id: str) -> Passage | None:
        """Return a document as a passage without text; see `Citations`."""
        return (await self._documents([document_id])).get(document_id)

    def uri(self, passage: Passage, page: int) -> str:
        """Return the URI of the page with the passage marked."""
        return fill_uri(PAGE, document_id=passage.document_id, number=page, chunk=passage.id)

    async def _documents(self, ids: Sequence[str]) -> dict[str, Passage]:
        found = {}
        for record in await self._engine.collections.get(REGISTRY, ids=ids):
            path = Path(str(record.metadata["file_path"]))
            if path.suffix.lower() in PAGED:
                sha256 = str(record.metadata["file_hash"])
                found[record.id] = Passage("", "", record.id, path.name, path, sha256, (1,))
        return found
