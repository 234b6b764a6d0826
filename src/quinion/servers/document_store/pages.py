"""Pages of a document for the console: images, and where each chunk lies on a page."""

from typing import Annotated, Literal

from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from quinion.concurrency import in_thread
from quinion.engine import Engine
from quinion.errors import DocumentMissing, FileProblem, OriginalMissing, ToolMissing
from quinion.evidence.passages import Located, Passage
from quinion.servers.base import Name, make_tool
from quinion.servers.document_store.citations import DocumentCitations
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.servers.evidence.citations import EvidenceRegion, encode_image, show_image

THUMBNAIL = {"dpi": 36, "max_side": 320, "max_bytes": 40_000}
"""Limits of a small image of a page."""
MAX_CHUNKS = 200
"""Chunks of a page that are placed."""


class PlacedChunk(BaseModel):
    """A chunk and its boxes on one page; without boxes, its place is not known."""

    chunk_id: str
    chunk_index: int
    char_count: int
    hidden_text: bool
    boxes: list[list[float]]


class PlacedChunks(BaseModel):
    """The chunks of a page, in the order of the document."""

    chunks: list[PlacedChunk]


def make_page_tools(engine: Engine, citations: DocumentCitations) -> list[Tool]:
    """Create the tools that show pages in the console, which are hidden from clients."""

    async def show_document_page(
        document_id: Name,
        page: Annotated[int, Field(ge=1)],
        size: Literal["page", "thumbnail"] = "page",
    ) -> CallToolResult:
        """Show a page of a document as an image, also one without text."""
        document = await _find(citations, document_id)
        limits = THUMBNAIL if size == "thumbnail" else None
        picture = await citations.evidence.show(document, page, limits=limits)
        return CallToolResult(content=[show_image(await in_thread(encode_image, picture))])

    async def place_chunks(document_id: Name, page: Annotated[int, Field(ge=1)]) -> PlacedChunks:
        """List the chunks of a page with their places on it."""
        return PlacedChunks(chunks=await _place(engine, citations, document_id, page))

    return [
        make_tool(show_document_page, title="Show a page of a document", read_only=True),
        make_tool(place_chunks, title="Place the chunks of a page", read_only=True),
    ]


async def _find(citations: DocumentCitations, document_id: str) -> Passage:
    document = await citations.document(document_id)
    if document is None:
        raise DocumentMissing(f"Document not found: {document_id}")
    return document


async def _place(
    engine: Engine, citations: DocumentCitations, document_id: str, page: int
) -> list[PlacedChunk]:
    if not await engine.collections.get(REGISTRY, ids=[document_id]):
        raise DocumentMissing(f"Document not found: {document_id}")
    records = await engine.collections.get(CHUNKS, where={"document_id": document_id})
    records = [one for one in records if str(page) in str(one.metadata["page_numbers"]).split(",")]
    records.sort(key=lambda one: int(one.metadata["chunk_index"]))
    passages = await citations.passages([one.id for one in records[:MAX_CHUNKS]])
    located = await _locate(citations, passages)
    return [
        PlacedChunk(
            chunk_id=one.id,
            chunk_index=int(one.metadata["chunk_index"]),
            char_count=len(one.text),
            hidden_text=located[one.id].is_hidden if one.id in located else False,
            boxes=_boxes(located.get(one.id, Located()), page),
        )
        for one in records
    ]


async def _locate(citations: DocumentCitations, passages: dict[str, Passage]) -> dict[str, Located]:
    """Locate the chunks; the first one that is not kept makes the words of its pages be kept."""
    found: dict[str, Located] = {}
    for id_, passage in passages.items():
        try:
            found[id_] = await citations.evidence.locate(passage)
        except (OriginalMissing, FileProblem, ToolMissing):  # the page is shown without boxes
            break
    return found


def _boxes(located: Located, page: int) -> list[list[float]]:
    blocks = [box for one in located.regions if one.page == page for box in one.blocks]
    return EvidenceRegion.of(page, blocks).boxes
