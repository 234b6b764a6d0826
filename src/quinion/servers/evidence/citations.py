"""Citations of a server: its chunks as passages, with their regions, images and addresses."""

import base64
from collections.abc import Iterable, Sequence
from operator import not_
from typing import Annotated, Protocol

from mcp.types import CallToolResult, ContentBlock, ImageContent, TextContent
from pydantic import BaseModel, Field

from quinion.concurrency import in_thread
from quinion.errors import QuinionError
from quinion.evidence.marks import Region
from quinion.evidence.passages import Evidence, Located, Passage
from quinion.model.page import Box
from quinion.model.record import Hit
from quinion.servers.base import as_json, is_command
from quinion.servers.response_size import MAX_RESULT_BYTES, measure

MAX_IMAGES = 5
MAX_PLACED = 50
"""Results that get boxes; further ones have their page only."""
IMAGE_LIMITS = {"dpi": 130, "max_side": 1_200, "max_bytes": 100_000}
"""Limits of an image in an answer: five of them fit beside the results."""
DIGITS = 4
"""Digits of a coordinate: a tenth of a millimetre on an A4 page."""

Images = Annotated[
    int,
    Field(
        ge=0,
        json_schema_extra={"maximum": MAX_IMAGES},
        description="Addition: add images of the evidence for this many of the best results, at "
        f"most {MAX_IMAGES}: the passage marked on its page, to look at it or to show it.",
    ),
]


class EvidenceRegion(BaseModel):
    """The marks of a passage on one page."""

    page: int
    boxes: list[list[float]] = Field(
        description="Left, top, right, bottom as fractions of the page, from its top left."
    )

    @classmethod
    def of(cls, page: int, boxes: Iterable[Box]) -> "EvidenceRegion":
        """Convert boxes to wire format."""
        return cls(page=page, boxes=[[round(side, DIGITS) for side in box] for box in boxes])


class CitedEvidence(BaseModel):
    """Where a result stands: its page as a resource, and its place on it."""

    uri: str = Field(description="Resource: the page as an image, with the passage marked.")
    page: int
    regions: Annotated[
        list[EvidenceRegion],
        Field(exclude_if=lambda regions: not regions, description="Left out where unknown."),
    ] = []

    file: Annotated[
        str,
        Field(exclude_if=not_, description="The file, for quinion's own commands only."),
    ] = ""


OptionalEvidence = Annotated[
    CitedEvidence | None,
    Field(
        exclude_if=lambda evidence: evidence is None,
        description="Addition, left out where there is no page to show.",
    ),
]


class Citable(Protocol):
    """A result that may have evidence."""

    evidence: OptionalEvidence


class Citations(Protocol):
    """Citations of one server."""

    evidence: Evidence

    async def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Return the passages of these chunks, by id; chunks without pages are left out."""
        ...

    async def document(self, document_id: str) -> Passage | None:
        """Return a document as a passage without text, to show its pages."""
        ...

    def uri(self, passage: Passage, page: int) -> str:
        """Return the URI of the resource: the page with the passage marked."""
        ...


def ids_of(hit: Hit) -> Sequence[str]:
    """Return the ids of the chunks that a hit is made of."""
    return hit.merged.ids if hit.merged else [hit.record.id]


async def add_evidence(
    citations: Citations, cited: Sequence[tuple[Citable, Sequence[str]]]
) -> list[Passage]:
    """Set the evidence of results, each given with the ids of its chunks.

    Returns the passage of the first chunk of each result that has one. A client may ask for the
    image of one next, so a worker for it is started; commands show their results as text.
    """
    passages = await citations.passages([id_ for _, ids in cited for id_ in ids])
    placed = [passages[id_] for _, ids in cited[:MAX_PLACED] for id_ in ids if id_ in passages]
    found = await citations.evidence.find(placed)
    located = dict(zip((passage.id for passage in placed), found, strict=True))
    firsts = []
    for result, ids in cited:
        own = [passages[id_] for id_ in ids if id_ in passages]
        if own:
            firsts.append(own[0])
            page = own[0].numbers[0]
            regions = [region for one in own for region in located.get(one.id, Located()).regions]
            result.evidence = CitedEvidence(
                uri=citations.uri(own[0], page),
                page=page,
                regions=_by_page(regions),
                file=str(own[0].path) if is_command() and own[0].path.is_absolute() else "",
            )
    if firsts and not is_command():
        await citations.evidence.warm()
    return firsts


async def answer_with_images(
    answer: BaseModel,
    citations: Citations,
    passages: Sequence[Passage],
    images: int,
    text: str | None = None,
) -> CallToolResult:
    """Build a result: text, by default JSON, structured content, and images of the evidence."""
    return CallToolResult(
        content=[
            TextContent(type="text", text=text if text is not None else as_json(answer)),
            *await make_images(citations, passages[: min(images, MAX_IMAGES)], measure(answer)),
        ],
        structured_content=answer.model_dump(mode="json"),
    )


async def make_images(
    citations: Citations, passages: Iterable[Passage], used: int
) -> list[ContentBlock]:
    """Render the evidence of these passages, each image after a line that says what it shows.

    `used` is the size of the answer so far. A page that cannot be shown is a line that says why.
    """
    blocks: list[ContentBlock] = []
    for number, passage in enumerate(passages, 1):
        page = passage.numbers[0]
        line = f"Evidence {number}: {passage.document}, page {page} (chunk {passage.id})"
        try:
            located = await citations.evidence.locate(passage)
            picture = await citations.evidence.show(
                passage, page, located.regions, cropped=True, limits=IMAGE_LIMITS
            )
        except QuinionError as error:
            blocks.append(TextContent(type="text", text=f"{line}. No image: {error.message}"))
            continue
        data = await in_thread(encode_image, picture)
        if used + len(data) > MAX_RESULT_BYTES:
            line += ". No image: the answer would be too large. Ask for fewer results"
            blocks.append(TextContent(type="text", text=line))
            continue
        used += len(data)
        blocks.append(TextContent(type="text", text=line + describe(located)))
        blocks.append(show_image(data))
    return blocks


def describe(located: Located) -> str:
    """Say what a reader of the image must know, as a sentence to append."""
    if located.note:
        return f". {located.note}"
    if located.is_hidden:
        return ". The outlined words cannot be seen on the page"
    return ""


def encode_image(picture: bytes) -> str:
    """Encode an image for an answer."""
    return base64.b64encode(picture).decode()


def show_image(data: str) -> ImageContent:
    """Build the content block of an encoded image."""
    return ImageContent(type="image", data=data, mime_type="image/png")


def regions_of(regions: Iterable[Region]) -> list[EvidenceRegion]:
    """Convert regions to wire format, line by line."""
    return [EvidenceRegion.of(region.page, region.boxes) for region in regions]


def _by_page(regions: Iterable[Region]) -> list[EvidenceRegion]:
    """Join the blocks of regions of the same page."""
    pages: dict[int, list[Box]] = {}
    for region in regions:
        pages.setdefault(region.page, []).extend(region.blocks)
    return [EvidenceRegion.of(page, dict.fromkeys(boxes)) for page, boxes in pages.items()]
