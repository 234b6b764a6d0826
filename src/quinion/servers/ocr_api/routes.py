"""Routes of the API: request validation and response format."""

import base64
import os
import re
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import anyio.to_thread
from pydantic import BaseModel, Field, ValidationError
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from quinion.errors import QuinionError
from quinion.ingest.markdown import MarkdownReader
from quinion.servers.http import make_metrics_route
from quinion.servers.ocr_api.answers import OcrOptions, write_answer
from quinion.servers.ocr_api.auth import SIGNED_PREFIX
from quinion.servers.ocr_api.calls import CLIENT_CLOSED_REQUEST
from quinion.servers.ocr_api.problems import (
    Problem,
    answer_engine_error,
    answer_problem,
    answer_validation_error,
    bad_file,
    invalid,
    no_file,
    too_large,
)
from quinion.servers.ocr_api.uploads import MAX_BYTES, PREFIX, Files, StoredFile
from quinion.telemetry.metrics import Source

MAX_REQUEST = 128 << 20
"""Maximum size of a request that contains its document; larger documents must be uploaded."""
MAX_HOURS = 168
MAX_PAGES_TEXT = 10_000
MAX_PAGES = 5_000

_DATA = re.compile(r"data:([\w.+/-]*)[^,]{0,200},", re.IGNORECASE)
_RANGES = re.compile(r"\s*\d{1,6}(\s*-\s*\d{1,6})?(\s*,\s*\d{1,6}(\s*-\s*\d{1,6})?)*\s*")


class ByUrl(BaseModel):
    """A document at an address."""

    type: Literal["document_url"] = "document_url"
    document_url: str
    document_name: str | None = None


class ImageUrl(BaseModel):
    url: str


class ByImageUrl(BaseModel):
    """An image at an address."""

    type: Literal["image_url"] = "image_url"
    image_url: str | ImageUrl


class ById(BaseModel):
    """A file that was uploaded."""

    type: Literal["file"] = "file"
    file_id: str


class OcrRequest(BaseModel):
    """What `/v1/ocr` takes; fields that it does not know are ignored."""

    model: Annotated[str, Field(pattern=r"^mistral-ocr(-|$)")]
    document: ByUrl | ByImageUrl | ById
    pages: (
        list[Annotated[int, Field(ge=0)]] | Annotated[str, Field(max_length=MAX_PAGES_TEXT)] | None
    ) = None
    include_image_base64: bool | None = None
    image_limit: Annotated[int, Field(ge=0)] | None = None
    image_min_size: Annotated[int, Field(ge=0)] | None = None

    @property
    def address(self) -> str | None:
        """The URL of the document; None if the request names an uploaded file by id."""
        if isinstance(self.document, ByUrl):
            return self.document.document_url
        if isinstance(self.document, ByImageUrl):
            url = self.document.image_url
            return url if isinstance(url, str) else url.url
        return None


def make_routes(files: Files, reader: MarkdownReader, metrics: Source) -> Starlette:
    """Build the app with all routes."""
    api = _Api(files, reader)
    return Starlette(
        routes=[
            Route("/health", _health),
            make_metrics_route(metrics),
            Route("/v1/files", api.upload, methods=["POST"]),
            Route("/v1/files/{file_id}", api.describe),
            Route("/v1/files/{file_id}", api.delete, methods=["DELETE"]),
            Route("/v1/files/{file_id}/url", api.sign),
            Route("/v1/ocr", api.process, methods=["POST"]),
            Route(SIGNED_PREFIX + "{file_id}", api.download),
        ],
        exception_handlers={
            Problem: answer_problem,
            QuinionError: answer_engine_error,
            ValidationError: answer_validation_error,
        },
    )


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


class _Api:
    def __init__(self, files: Files, reader: MarkdownReader) -> None:
        self._files = files
        self._reader = reader

    async def upload(self, request: Request) -> Response:
        _check_length(request, MAX_BYTES)
        async with request.form(max_files=1, max_fields=10) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                return invalid("file", "Field required")
            if form.get("purpose", "ocr") != "ocr":
                return invalid("purpose", "This endpoint takes files for OCR only: purpose=ocr")
            stored = await anyio.to_thread.run_sync(
                self._files.add,
                file.filename or "document",
                file.content_type or "application/octet-stream",
                file.file,
            )
        return JSONResponse(_describe(stored))

    async def describe(self, request: Request) -> Response:
        return JSONResponse(_describe(self._files.find(request.path_params["file_id"])))

    async def delete(self, request: Request) -> Response:
        file_id = request.path_params["file_id"]
        self._files.delete(file_id)
        return JSONResponse({"id": file_id, "object": "file", "deleted": True})

    async def sign(self, request: Request) -> Response:
        hours = request.query_params.get("expiry", "24")
        if not (hours.isascii() and hours.isdigit() and 1 <= int(hours[:9]) <= MAX_HOURS):
            return invalid("expiry", f"Must be between 1 and {MAX_HOURS} hours")
        path = self._files.sign(request.path_params["file_id"], int(hours))
        return JSONResponse({"url": str(request.base_url).rstrip("/") + path})

    async def download(self, request: Request) -> Response:
        file = self._files.find_signed(str(request.url))
        if file is None:
            raise no_file(request.path_params["file_id"])
        return FileResponse(file.path, media_type="application/octet-stream")

    async def process(self, request: Request) -> Response:
        _check_length(request, MAX_REQUEST)
        wanted = OcrRequest.model_validate_json(await request.body())
        requested = OcrOptions(
            _parse_pages(wanted.pages),
            bool(wanted.include_image_base64),
            wanted.image_limit,
            wanted.image_min_size or 0,
        )
        handle, name = tempfile.mkstemp(prefix=PREFIX)
        delete_answer = Path(name).unlink
        try:
            with os.fdopen(handle, "wb") as answer, self._open(wanted) as path:
                is_done = await _while_connected(
                    request, lambda: write_answer(self._reader, path, requested, answer)
                )
        except BaseException:
            delete_answer()
            raise
        if not is_done:
            delete_answer()
            return Response(status_code=CLIENT_CLOSED_REQUEST)
        return FileResponse(
            name, media_type="application/json", background=BackgroundTask(delete_answer)
        )

    @contextmanager
    def _open(self, wanted: OcrRequest) -> Iterator[Path]:
        """Open the document of a request as a file."""
        address = wanted.address
        if address is None:
            assert isinstance(wanted.document, ById)
            yield self._files.find(wanted.document.file_id).path
            return
        stored = self._files.find_signed(address)
        if stored is not None:
            yield stored.path
            return
        with tempfile.NamedTemporaryFile(prefix=PREFIX) as file:
            file.write(_decode(address))
            file.flush()
            yield Path(file.name)


async def _while_connected(request: Request, work: Callable[[], Awaitable[None]]) -> bool:
    """Run `work`, but cancel it if the client disconnects; returns whether it completed."""
    is_done = False
    failure: Exception | None = None
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(watch)
        try:
            await work()
            is_done = True
        except Exception as error:  # raised below, because the task group would wrap it
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return is_done


def _check_length(request: Request, limit: int) -> None:
    length = request.headers.get("content-length")
    if length is None:
        raise Problem(
            411, "invalid_request_error", "1900", "The Content-Length header is required."
        )
    if int(length) > limit:
        raise too_large(limit)


def _parse_pages(pages: list[int] | str | None) -> tuple[int, ...] | None:
    """Parse page numbers, a list or text like `0,2-4`, into sorted numbers."""
    if pages is None:
        return None
    if isinstance(pages, list):
        return tuple(sorted(set(pages)))
    if not _RANGES.fullmatch(pages):
        raise Problem(400, "invalid_request_error", "1900", "pages: not a list like 0,2-4.")
    found: set[int] = set()
    for part in pages.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1)[: MAX_PAGES + 1])
        if len(found) > MAX_PAGES:
            raise Problem(400, "invalid_request_error", "1900", f"At most {MAX_PAGES} pages.")
    return tuple(sorted(found))


def _decode(address: str) -> bytes:
    header = _DATA.match(address)
    if header is None:
        raise bad_file(
            "This endpoint fetches nothing: upload the document, or send it as a data: URL."
        )
    try:
        return base64.b64decode(address[header.end() :], validate=True)
    except ValueError:
        raise bad_file("The data: URL is not valid Base64.") from None


def _describe(file: StoredFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.size,
        "created_at": file.created_at,
        "filename": file.name,
        "purpose": "ocr",
        "sample_type": "ocr_input",
        "source": "upload",
        "num_lines": None,
        "mimetype": file.content_type,
        "signature": None,
    }
