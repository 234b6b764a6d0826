"""Documents: the list, one document page by page, and what can be done with it."""

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams
from starlette.responses import FileResponse, Response

from quinion.concurrency import in_thread
from quinion.console.calls import Answer, CallFailed, Calls
from quinion.console.jobs import Job, Jobs, State
from quinion.console.rendering import View, read_number
from quinion.console.uploads import MAX_BYTES, Uploads
from quinion.console.views.evidence import send_image
from quinion.console.views.search import list_types
from quinion.errors import FileMissing
from quinion.ingest.applications.ingestion import EXTENSIONS
from quinion.ingest.source import hash_file
from quinion.servers import document_store

PAGE_SIZE = 50
SHOWN_PAGES = 200
"""Pages around the chosen one that are listed, of a document with more."""
WARNINGS = {
    "doubtful_pages": ("doubtful", "low OCR confidence"),
    "hidden_pages": ("hidden", "text that people do not see"),
    "empty_pages": ("empty", "no text"),
}
"""Mark of a page and its explanation, by the field that lists the pages."""
METHODS = {"text_layer": "Text layer", "ocr": "OCR", "mixed": "Text layer and OCR"}


class Documents:
    """Views of the documents of the Document Store, and changes to them."""

    def __init__(self, calls: Calls, jobs: Jobs, uploads: Uploads) -> None:
        self._calls = calls
        self._jobs = jobs
        self._uploads = uploads

    async def show_list(self, given: QueryParams) -> View:
        """Show a part of the documents, newest first."""
        part = read_number(given, "part", 1)
        filters = {name: given.get(name, "").strip() for name in ("application", "type")}
        answer = await self._call(
            "page_documents",
            application_ref=filters["application"] or None,
            document_type=filters["type"] or None,
            offset=(part - 1) * PAGE_SIZE,
            limit=PAGE_SIZE,
        )
        return View(
            "documents.html",
            "Documents",
            {
                "documents": list(map(describe, answer["documents"])),
                "filters": filters,
                "types": list_types(),
                "part": part,
                "before": _address(filters, part - 1) if part > 1 else None,
                "after": _address(filters, part + 1) if answer["has_more"] else None,
                "extensions": sorted(EXTENSIONS),
                "max_bytes": MAX_BYTES,
                "jobs": [job.describe() for job in self._jobs.list()],
            },
        )

    async def show(self, document_id: str, given: QueryParams) -> View:
        """Show a document: its pages, and one of them with its text and its chunks."""
        document = await self._call("show_document", document_id=document_id)
        pages = await self._list_pages(document)
        page = read_number(given, "page", pages[0] if pages else 1)
        placed = await self._call("place_chunks", document_id=document_id, page=page)
        path = Path(document["file_path"])
        shown = describe(document)
        marks = {number: one["mark"] for one in shown["warnings"] for number in one["pages"]}
        return View(
            "document.html",
            document["title"],
            {
                "document": {
                    **shown,
                    "path": str(path),
                    "hash": document["file_hash"],
                    "is_there": await asyncio.to_thread(path.is_file),
                    "is_upload": self._uploads.has(path),
                    "versions": document["versions"],
                },
                "pages": [
                    {
                        "number": number,
                        "mark": marks.get(number, ""),
                        "thumbnail": f"{shown['address']}/page/{number}?size=thumbnail",
                    }
                    for number in _near(pages, page)
                ],
                "page_count": len(pages),
                "page": page,
                "before": _neighbour(pages, page, -1),
                "after": _neighbour(pages, page, 1),
                "text": await self._read_page(document_id, page),
                "chunks": placed["chunks"],
                "image": f"{shown['address']}/page/{page}",
            },
        )

    async def fetch_page(self, document_id: str, page: int, size: str) -> Response:
        """Send the image of a page, or its thumbnail.

        Raises:
            CallFailed: there is no such page, or the file is gone.
        """
        arguments = {"document_id": document_id, "page": page, "size": size or "page"}
        return send_image(
            await self._calls.fetch(document_store.NAME, "show_document_page", arguments)
        )

    async def download(self, document_id: str) -> Response:
        """Send the file of a document, if it still has the content that was ingested.

        Raises:
            FileMissing: the file is gone or has changed.
        """
        document = await self._call("show_document", document_id=document_id)
        path = Path(document["file_path"])
        try:
            real = await in_thread(path.resolve, strict=True)
            is_same = await in_thread(hash_file, real) == document["file_hash"]
        except OSError as error:
            raise FileMissing(f"{path.name} is not there any more.") from error
        if not is_same:
            raise FileMissing(f"{path.name} has changed since it was ingested. Ingest it again.")
        return FileResponse(real, media_type="application/octet-stream", filename=path.name)

    async def delete(self, document_id: str) -> Answer:
        """Delete a document, and its file if that was uploaded.

        Raises:
            CallFailed: it is not there, perhaps because another tab has deleted it.
        """
        document = await self._call("show_document", document_id=document_id)
        deleted = await self._call("remove_document", document_id=document_id)
        path = Path(document["file_path"])
        if self._uploads.has(path) and not document["versions"]:
            await in_thread(self._uploads.remove, path)
        return deleted

    async def ingest_again(self, document_id: str) -> Answer:
        """Queue that the file of a document is read again."""
        document = await self._call("show_document", document_id=document_id)
        name = Path(document["file_path"]).name
        arguments = {"document_id": document_id}
        job = self._jobs.add(name, document_store.NAME, "reingest_document", arguments)
        return job.describe()

    def ingest_upload(self, path: Path, application: str, kind: str) -> Answer:
        """Queue the ingest of an uploaded file."""
        arguments = {
            "file_path": str(path),
            "application_ref": application,
            "document_type": kind or None,
        }
        job = self._jobs.add(path.name, document_store.NAME, "ingest_document", arguments, path)
        return job.describe()

    async def _list_pages(self, document: Answer) -> list[int]:
        """The numbers of all pages; of those with text only, if their number was not recorded."""
        if document["page_count"]:
            return list(range(1, document["page_count"] + 1))
        answer = await self._call("show_chunks", document_id=document["document_id"])
        return sorted({page for chunk in answer["chunks"] for page in chunk["pages"]})

    async def _read_page(self, document_id: str, page: int) -> str:
        try:
            answer = await self._call("get_document_text", document_id=document_id, pages=str(page))
        except CallFailed:  # a page without text
            return ""
        return str(answer["text"])

    async def _call(self, tool: str, **arguments: object) -> Answer:
        return await self._calls.call(document_store.NAME, tool, arguments)


def finish_upload(uploads: Uploads, job: Job) -> None:
    """Keep the file of an upload that became a document; delete that of one that did not.

    The file of a failed job is kept until the job is retried or dismissed.
    """
    if job.upload is None or job.state is State.FAILED:
        return
    if job.state is State.DONE and job.answer.get("status") == "success":
        uploads.keep(job.upload)
    elif job.state is State.DONE or not job.can_retry:
        uploads.remove(job.upload)


def describe(document: Answer) -> Answer:
    """The data of a document that views show."""
    return {
        "id": document["document_id"],
        "title": document["title"],
        "file": Path(document["file_path"]).name,
        "application": document["application_ref"],
        "type": document["document_type"],
        "method": METHODS.get(document["extraction_method"], document["extraction_method"]),
        "pages": document["page_count"],
        "chunks": document["chunk_count"],
        "warnings": [
            {"mark": mark, "what": what, "pages": numbers}
            for name, (mark, what) in WARNINGS.items()
            if (numbers := document[name])
        ],
        "ingested": document["ingested_at"],
        "drawings": document["contains_drawings"],
        "address": f"/documents/{quote(document['document_id'], safe='')}",
    }


def _near(pages: Sequence[int], page: int) -> Sequence[int]:
    """The pages that are listed: all, or those around the chosen one."""
    place = bisect_left(pages, page)
    first = max(0, min(place - SHOWN_PAGES // 2, len(pages) - SHOWN_PAGES))
    return pages[first : first + SHOWN_PAGES]


def _neighbour(pages: Sequence[int], page: int, step: int) -> int | None:
    place = bisect_left(pages, page) + step
    return pages[place] if 0 <= place < len(pages) else None


def _address(filters: Answer, part: int) -> str:
    given = {name: value for name, value in filters.items() if value}
    return "/documents?" + urlencode({**given, "part": part})
