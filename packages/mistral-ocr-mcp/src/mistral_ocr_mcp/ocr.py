"""Client of Mistral's OCR API, on the official library: upload, signed URL, OCR, deletion.

Timeouts limit inactivity, not the total time: a slow connection may upload as long as bytes
move, and the OCR of a long document may take minutes until the first byte.
"""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
import httpx2
from mistralai.client import Mistral
from mistralai.client.errors import MistralError, NoResponseError, ResponseValidationError
from mistralai.client.models import OCRImageObject, OCRResponse
from mistralai.client.utils.logger import NoOpLogger

from mistral_ocr_mcp.errors import Failure
from mistral_ocr_mcp.progress import Report
from mistral_ocr_mcp.retry import TOO_MANY, call_with_retries, retry_after
from mistral_ocr_mcp.settings import KEY, SERVER, Settings
from mistral_ocr_mcp.source import Source
from mistral_ocr_mcp.spool import ImageStripper, Picture, Spool

MODEL = "mistral-ocr-latest"
OCR_PATH = "/v1/ocr"
UPLOAD_TIMEOUT_MS = 60_000
REQUEST_TIMEOUT_MS = 30_000
OCR_TIMEOUT_MS = 900_000
TOTAL_S = 3_600.0
DELETION_S = 10.0
ADDRESS_HOURS = 1
SHOWN_CHARACTERS = 500

OK = 200
UNAUTHORIZED = 401

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Image:
    """An image of a page; `picture` is None if the API sent no data."""

    id: str
    picture: Picture | None


@dataclass(frozen=True)
class Page:
    markdown: str
    images: tuple[Image, ...]


class Ocr:
    """Runs OCR for one document; received images are written to `spool`."""

    def __init__(self, settings: Settings, spool: Spool, report: Report) -> None:
        self._settings = settings
        self._spool = spool
        self._report = report

    async def read(self, source: Source, *, with_images: bool) -> list[Page]:
        """Read the pages of a document.

        Raises:
            Failure: the API returns an error, cannot be reached, or does not finish in time.
        """
        try:
            with anyio.fail_after(TOTAL_S):
                async with _connect(self._settings, self._spool) as client:
                    return await self._read(client, source, with_images)
        except MistralError as error:
            raise self._explain(error) from None
        except TimeoutError:
            raise Failure(f"The API did not finish within {TOTAL_S:.0f} seconds.") from None
        except httpx2.TimeoutException:
            raise Failure(f"The API at {self._where} timed out. Try again.") from None
        except (httpx2.HTTPError, NoResponseError) as error:
            raise Failure(
                f"The API at {self._where} cannot be reached, or the connection was cut "
                f"({type(error).__name__}). Check the network"
                + (f" and {SERVER}." if self._settings.server_url else ".")
            ) from None

    async def _read(self, client: Mistral, source: Source, with_images: bool) -> list[Page]:
        async with self._upload(client, source) as file_id:
            signed = await call_with_retries(
                "signed address",
                lambda: client.files.get_signed_url_async(
                    file_id=file_id, expiry=ADDRESS_HOURS, timeout_ms=REQUEST_TIMEOUT_MS
                ),
            )
            await self._report("The document is being read")
            document: Any = (
                {"type": "document_url", "document_url": signed.url}
                if source.is_pdf
                else {"type": "image_url", "image_url": signed.url}
            )
            answer = await call_with_retries(
                "OCR",
                lambda: client.ocr.process_async(
                    model=MODEL,
                    document=document,
                    include_image_base64=with_images,
                    include_blocks=False,
                    timeout_ms=OCR_TIMEOUT_MS,
                ),
            )
        return self._convert_pages(answer)

    @asynccontextmanager
    async def _upload(self, client: Mistral, source: Source) -> AsyncIterator[str]:
        """Upload the file and yield its id; the upload is deleted afterwards in any case."""

        async def upload() -> str:
            source.stream.seek(0)
            uploaded = await client.files.upload_async(
                file={
                    "file_name": source.name,
                    "content": source.stream,
                    "content_type": source.content_type,
                },
                purpose="ocr",
                timeout_ms=UPLOAD_TIMEOUT_MS,
            )
            return uploaded.id

        await self._report(f"{source.name} is being uploaded")
        file_id = await call_with_retries("upload", upload)
        try:
            yield file_id
        finally:
            with anyio.move_on_after(DELETION_S, shield=True) as scope:
                await self._delete(client, file_id)
            if scope.cancelled_caught:
                log.warning("the uploaded file %s was not deleted in time", file_id)

    async def _delete(self, client: Mistral, file_id: str) -> None:
        try:
            await call_with_retries(
                "deletion",
                lambda: client.files.delete_async(file_id=file_id, timeout_ms=REQUEST_TIMEOUT_MS),
            )
        except (MistralError, NoResponseError, httpx2.HTTPError) as error:
            log.warning("the uploaded file %s was not deleted: %s", file_id, type(error).__name__)

    def _convert_pages(self, answer: OCRResponse) -> list[Page]:
        pages = sorted(answer.pages, key=lambda page: page.index)
        return [
            Page(page.markdown, tuple(self._convert_image(image) for image in page.images))
            for page in pages
        ]

    def _convert_image(self, image: OCRImageObject) -> Image:
        reference = image.image_base64
        if not isinstance(reference, str):
            return Image(image.id, None)
        try:
            return Image(image.id, self._spool.find(reference))
        except LookupError:
            raise Failure("The API's answer has unexpected image data. Try again.") from None

    def _explain(self, error: MistralError) -> Failure:
        if isinstance(error, ResponseValidationError):
            return Failure(
                f"The API's answer (HTTP {error.status_code}) is not what its client expects; "
                "it may be cut off, or of another version."
            )
        message = _message(error.body).replace(self._settings.api_key, "…")
        text = f"Mistral API error: HTTP {error.status_code}: {message[:SHOWN_CHARACTERS]}"
        if error.status_code == UNAUTHORIZED:
            return Failure(f"{text} (check {KEY})")
        if error.status_code == TOO_MANY:
            pause = retry_after(error)
            return Failure(f"{text} (try again in {pause or 60:.0f} seconds)")
        return Failure(text)

    @property
    def _where(self) -> str:
        return self._settings.server_url or "api.mistral.ai"


@asynccontextmanager
async def _connect(settings: Settings, spool: Spool) -> AsyncIterator[Mistral]:
    async with _StrippingClient(spool) as http:
        yield Mistral(
            api_key=settings.api_key,
            server_url=settings.server_url,
            async_client=http,
            # With MISTRAL_DEBUG set, the default logger would write headers, including the key.
            debug_logger=NoOpLogger(),
        )


class _StrippingClient(httpx2.AsyncClient):
    """HTTP client that strips image data from OCR answers as they arrive, to save memory."""

    def __init__(self, spool: Spool) -> None:
        super().__init__(follow_redirects=True)
        self._spool = spool

    async def send(
        self, request: httpx2.Request, *, stream: bool = False, **options: Any
    ) -> httpx2.Response:
        if not request.url.path.endswith(OCR_PATH):
            return await super().send(request, stream=stream, **options)
        response = await super().send(request, stream=True, **options)
        try:
            if response.status_code != OK:
                await response.aread()
                return response
            stripper = ImageStripper(self._spool)
            async for piece in response.aiter_bytes():
                await anyio.to_thread.run_sync(stripper.feed, piece)
            return httpx2.Response(
                response.status_code,
                headers={"content-type": response.headers.get("content-type", "")},
                content=stripper.finish(),
                request=request,
            )
        finally:
            await response.aclose()


def _message(body: str) -> str:
    try:
        return _find_message(json.loads(body))
    except (ValueError, RecursionError):
        return " ".join(body.split()) or "no message"


def _find_message(body: Any) -> str:
    """Find the message in an error body; the API nests several formats."""
    if isinstance(body, str):
        return body
    if isinstance(body, list):
        return "; ".join(_find_message(item) for item in body)
    if isinstance(body, dict):
        for key in ("message", "msg", "detail", "error"):
            if body.get(key):
                return _find_message(body[key])
    return json.dumps(body)
