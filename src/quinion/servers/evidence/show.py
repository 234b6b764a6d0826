"""The tool of the MCP App, page resources, and evidence over HTTP, for the passages of a server."""

import posixpath
from collections.abc import Sequence
from typing import Annotated

from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from quinion.concurrency import in_thread
from quinion.errors import DocumentMissing, InvalidInput, OriginalMissing, QuinionError
from quinion.evidence.passages import Located, Passage
from quinion.model.record import Record
from quinion.servers.base import Answer, ContractServer, Name, as_json, make_tool
from quinion.servers.evidence.citations import (
    Citations,
    EvidenceRegion,
    encode_image,
    regions_of,
    show_image,
)

HTTP_PATH = "/evidence"
NOT_FOUND = (DocumentMissing, OriginalMissing)
PICTURE = "image/png"


class Shown(BaseModel):
    """A page, and where the passage lies on the pages of its document."""

    document: str
    document_id: str
    chunk_id: str
    page: int
    page_count: int
    regions: list[EvidenceRegion]
    hidden_text: bool = Field(description="Whether words of the passage cannot be seen.")
    note: str | None = Field(description="Why the place of the passage is not known.")


async def find_passage(citations: Citations, chunk_id: str) -> Passage:
    """Return the passage of a chunk.

    Raises:
        DocumentMissing: there is no such chunk, or it has no page.
    """
    found = await citations.passages([chunk_id])
    if chunk_id not in found:
        raise DocumentMissing(
            f"There is no chunk {chunk_id!r} with a page to show. Search results have the ids."
        )
    return found[chunk_id]


def make_show_tool(citations: Citations) -> Tool:
    """Create the tool that the MCP App calls to show a result."""

    async def show_evidence(
        chunk_id: Annotated[Name, Field(description="Id of a search result.")],
        page: Annotated[
            int | None, Field(ge=1, description="Another page of the same document.")
        ] = None,
        marked: Annotated[bool, Field(description="Mark the passage in the image.")] = False,
    ) -> Annotated[CallToolResult, Answer[Shown]]:
        """Show a page of the document that a search result is from, and where the passage is."""
        passage = await find_passage(citations, chunk_id)
        located = await _locate(citations, passage)
        number = page or passage.numbers[0]
        regions = located.regions if marked else ()
        picture = await citations.evidence.show(passage, number, regions)
        shown = Shown(
            document=passage.document,
            document_id=passage.document_id,
            chunk_id=chunk_id,
            page=number,
            page_count=await citations.evidence.count_pages(passage),
            regions=regions_of(located.regions),
            hidden_text=located.is_hidden,
            note=located.note,
        )
        return CallToolResult(
            content=[
                TextContent(type="text", text=as_json(shown)),
                show_image(await in_thread(encode_image, picture)),
            ],
            structured_content=shown.model_dump(mode="json"),
        )

    return make_tool(show_evidence, title="Show a page of a result", read_only=True)


async def show_page(citations: Citations, chunk_id: str, page: int | None = None) -> bytes:
    """Render the page of a chunk, or another page of its document, with the passage marked.

    Raises:
        DocumentMissing, OriginalMissing, InvalidInput, FileProblem: it cannot be shown.
    """
    passage = await find_passage(citations, chunk_id)
    located = await _locate(citations, passage)
    return await citations.evidence.show(passage, page or passage.numbers[0], located.regions)


async def _locate(citations: Citations, passage: Passage) -> Located:
    """Locate a passage; if its words cannot be read, the page may still be shown."""
    try:
        return await citations.evidence.locate(passage)
    except OriginalMissing:
        raise
    except QuinionError as error:
        return Located(note=error.message)


async def read_page(
    citations: Citations, document_id: str, number: str, chunk_id: str | None
) -> bytes:
    """Render a page of a document, with the passage of a chunk marked if one is named.

    Raises:
        DocumentMissing: there is no such document, or no such chunk in it.
        OriginalMissing, InvalidInput, FileProblem: it cannot be shown.
    """
    if not number.isdecimal():
        raise InvalidInput(f"{number[:20]!r} is no number of a page. The first is 1.")
    if chunk_id is None:
        document = await citations.document(document_id)
        if document is None:
            raise DocumentMissing(f"There is no document {document_id!r} with pages to show.")
        return await citations.evidence.show(document, int(number))
    passage = await find_passage(citations, chunk_id)
    if passage.document_id != document_id:
        raise DocumentMissing(f"The chunk {chunk_id!r} is not from {document_id!r}.")
    located = await _locate(citations, passage)
    return await citations.evidence.show(passage, int(number), located.regions)


def name_places(chunks: Sequence[Record], argument: str) -> list[str]:
    """Complete the `number` of a page or the id of a `chunk` from the chunks of a document."""
    if argument == "chunk":
        return [chunk.id for chunk in chunks]
    numbers: set[int] = set()
    for data in (chunk.metadata for chunk in chunks):
        pages = str(data.get("page_numbers", data.get("page_number", ""))).split(",")
        numbers.update(int(page) for page in pages if page)
    return [str(number) for number in sorted(numbers)]


def add_route(server: ContractServer, name: str, citations: Citations) -> None:
    """Add the HTTP route of a server: `/evidence/{server}/{chunk_id}.png?page=N`."""

    async def show(request: Request) -> Response:
        chunk_id, extension = posixpath.splitext(request.path_params["chunk"])
        try:
            if extension != ".png":
                raise DocumentMissing("The address of an image ends with .png.")
            picture = await show_page(citations, chunk_id, _page_of(request))
        except InvalidInput as error:
            return _refuse(error, 400)
        except NOT_FOUND as error:
            return _refuse(error, 404)
        except QuinionError as error:
            return _refuse(error, 503)
        return Response(picture, media_type=PICTURE, headers={"Cache-Control": "private"})

    server.custom_route(f"{HTTP_PATH}/{name}/{{chunk:path}}", ["GET"])(show)


def _page_of(request: Request) -> int | None:
    text = request.query_params.get("page")
    if text is None:
        return None
    if not text.isdecimal() or not int(text):
        raise InvalidInput(f"page must be a number from 1, got {text[:20]!r}.")
    return int(text)


def _refuse(error: QuinionError, status: int) -> Response:
    return JSONResponse({"error": {"code": error.code, "message": error.message}}, status)
