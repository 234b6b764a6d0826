"""Chunks of indexed PDFs as passages, and the URIs of their pages."""

from collections.abc import Sequence
from pathlib import Path

from quinion.evidence.passages import PAGED, Evidence, Passage
from quinion.ingest.folders.folder_index import FolderIndex
from quinion.model.page import PAGE_SPANS, parse_spans
from quinion.servers.resources import fill_uri

PAGE = "docvec://file/{path}/page/{number}{?chunk}"


class FileCitations:
    """Citations of DocVec. Text and office files have no pages and no evidence."""

    def __init__(self, index: FolderIndex, evidence: Evidence) -> None:
        self.evidence = evidence
        self._index = index

    async def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Return the passages of these chunks; see `Citations`."""
        found = {}
        chunks = self._index.names.chunks
        for chunk in await self._index.resources.collections.get(chunks, ids=ids):
            data = chunk.metadata
            path = Path(str(data["source_file"]))
            if path.suffix.lower() in PAGED and "page_number" in data:
                found[chunk.id] = Passage(
                    id=chunk.id,
                    text=chunk.text,
                    document_id=str(path),
                    document=path.name,
                    path=path,
                    sha256=str(data["doc_hash"]),
                    pages=(int(data["page_number"]),),
                    spans=parse_spans(str(data.get(PAGE_SPANS, ""))),
                )
        return found

    async def document(self, document_id: str) -> Passage | None:
        """Return a file as a passage without text; see `Citations`."""
        path = Path(document_id)
        if path.suffix.lower() not in PAGED:
            return None
        files = self._index.names.files
        for record in await self._index.resources.collections.get(files, ids=[document_id]):
            sha256 = str(record.metadata["doc_hash"])
            return Passage("", "", document_id, path.name, path, sha256, (1,))
        return None

    def uri(self, passage: Passage, page: int) -> str:
        """Return the URI of the page with the passage marked."""
        return fill_uri(PAGE, path=passage.document_id, number=page, chunk=passage.id)
