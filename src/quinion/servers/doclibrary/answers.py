"""Response models of the contract and their text form.

Three tools return JSON. The others return text, as the contract defines; the same data is added
as structured content for programs. Docstrings and field descriptions of the models are part of
the published schemas.
"""

from typing import Literal

from mcp.types import CallToolResult, ImageContent, TextContent
from pydantic import BaseModel, Field

from quinion.ingest.library.records import TEXT, LibraryDocument, LibraryElement
from quinion.model.record import Hit, is_flagged
from quinion.model.table_rows import to_csv, to_markdown
from quinion.servers.base import Answer, Truncated, as_json
from quinion.servers.evidence.citations import OptionalEvidence
from quinion.servers.invisible_text import NOTE, HiddenText, Warnings
from quinion.servers.search_mode import MergedChunks, OptionalMatch, OptionalMerged, WordMatch

SHOWN_CHARACTERS = 300
"""Maximum length of the content of a search result."""
MAX_CHARACTERS = 20_000
"""Maximum length of an element's text, context or table."""


class Failed(BaseModel):
    """Something went wrong."""

    error: str = Field(description='Begins with "Error:".')


class Result(BaseModel):
    """One chunk or element that was found."""

    type: str = Field(description="`text`, or the type of the element.")
    document_slug: str
    page_number: int
    score: float = Field(description="0 to 1, higher is better.")
    content: str
    element_label: str | None = None
    hidden_text: HiddenText = False
    match: OptionalMatch = None
    merged: OptionalMerged = None
    evidence: OptionalEvidence = None

    @classmethod
    def of(cls, hit: Hit) -> "Result":
        """Convert a hit of the engine."""
        metadata = hit.record.metadata
        kind = str(metadata["kind"])
        return cls(
            type=kind,
            document_slug=str(metadata["document_slug"]),
            page_number=int(metadata["page_number"]),
            score=hit.score,
            content=_shorten(hit.record.text),
            element_label=None if kind == TEXT else str(metadata["label"]),
            hidden_text=is_flagged(metadata),
            match=WordMatch.of(hit),
            merged=MergedChunks.of(hit),
        )

    def render(self, number: int) -> str:
        """Format the result as text."""
        head = "TEXT CHUNK" if self.type == TEXT else f"{self.type.upper()}: {self.element_label}"
        return (
            f"[{number}] {head}\n"
            f"  Document: {self.document_slug}\n"
            f"  Page: {self.page_number}\n"
            f"  Score: {self.score:.1%}\n"
            + (f"  Note: {NOTE}\n" if self.hidden_text else "")
            + f"  Content: {self.content}"
        )


class Found(BaseModel):
    """What a search found, best first."""

    query: str
    results: list[Result]
    truncated: Truncated = False

    def render(self, noun: str) -> str:
        """Format the results as text."""
        if not self.results:
            return f"No {noun} found for query: {self.query}"
        head = f"Found {len(self.results)} {noun} for: {self.query}"
        if self.truncated:
            head += "\nThere are more, but one answer has no more results than these."
        return "\n\n".join([head, *(r.render(number) for number, r in enumerate(self.results, 1))])


class Details(BaseModel):
    """An element, with all that is known of it."""

    element_type: str
    element_label: str
    document_slug: str
    document_title: str
    page_number: int
    caption: str
    description: str
    context: str
    text: str = Field(description="What stands inside the element.")
    table_markdown: str | None = None
    table_csv: str | None = None
    latex: str | None = None
    box: list[float] = Field(description="Left, top, right, bottom in points on the page.")
    hidden_text: HiddenText = False

    @classmethod
    def of(cls, figure: LibraryElement, document: LibraryDocument) -> "Details":
        """Convert a figure of the library."""
        element = figure.element
        return cls(
            element_type=str(element.type),
            element_label=element.label,
            document_slug=document.slug,
            document_title=document.title,
            page_number=element.page,
            caption=element.caption,
            description=figure.description or element.caption,
            context=element.context[:MAX_CHARACTERS],
            text=element.text[:MAX_CHARACTERS],
            table_markdown=to_markdown(element.table)[:MAX_CHARACTERS] if element.table else None,
            table_csv=to_csv(element.table)[:MAX_CHARACTERS] if element.table else None,
            latex=figure.latex or None,
            box=[element.box.x0, element.box.y0, element.box.x1, element.box.y1],
            hidden_text=figure.has_hidden,
        )

    def render(self) -> str:
        """Format the element as text."""
        lines = [
            f"Type: {self.element_type.upper()}",
            f"Label: {self.element_label}",
            f"Document: {self.document_title} ({self.document_slug})",
            f"Page: {self.page_number}",
            *([f"Note: {NOTE}"] if self.hidden_text else ()),
        ]
        parts = {
            "Caption": self.caption if self.caption != self.description else "",
            "Description": self.description or "No description available",
            "Context": self.context,
            "Table": self.table_markdown,
            "Text": self.text if not self.table_markdown else "",
            "LaTeX": self.latex,
        }
        lines += [f"\n{name}:\n{part}" for name, part in parts.items() if part]
        return "\n".join(lines)


class ElementCounts(BaseModel):
    """How many elements there are of each type."""

    figures: int = 0
    tables: int = 0
    equations: int = 0
    diagrams: int = 0
    charts: int = 0


class Listed(BaseModel):
    """A document of the library."""

    slug: str
    title: str
    source_file: str
    total_pages: int
    keywords: list[str]
    date_added: str
    indexed_elements: ElementCounts

    @classmethod
    def of(cls, document: LibraryDocument) -> "Listed":
        """Convert a document of the library."""
        return cls(
            slug=document.slug,
            title=document.title,
            source_file=document.source_file,
            total_pages=document.total_pages,
            keywords=list(document.keywords),
            date_added=document.date_added.isoformat(timespec="seconds"),
            indexed_elements=ElementCounts.model_validate(document.counts),
        )


class Matches(BaseModel):
    """Documents whose name matches."""

    results: list[Listed]
    total_count: int = Field(description="How many match, shown or not.")


class Pagination(BaseModel):
    """Where in the list a page is."""

    page: int
    page_size: int
    total_pages: int
    total_documents: int


class ListedPage(BaseModel):
    """A part of the list of documents."""

    documents: list[Listed]
    pagination: Pagination


class Listing(BaseModel):
    """All documents, as many as fit."""

    documents: list[Listed]
    total_documents: int

    def render(self) -> str:
        """Format the list as text."""
        if not self.documents:
            return (
                "No documents found in the library. "
                "Documents are added with: quinion library add FILE"
            )
        lines = ["Available documents:"]
        for document in self.documents:
            lines += [
                f"\n## {document.title} ({document.slug})",
                f"   Pages: {document.total_pages}",
            ]
        if len(self.documents) < self.total_documents:
            rest = self.total_documents - len(self.documents)
            lines.append(f"\n… and {rest} more: use list_documents_paginated.")
        return "\n".join(lines)


class Status(BaseModel):
    """Whether all is well."""

    embedding: str
    database: str
    config: str
    documents: int | None

    def render(self) -> str:
        """Format the status as text."""
        return (
            "Document Library Status\n\n"
            f"Embedding server: {self.embedding}\n"
            f"Database: {self.database}\n"
            f"Config source: {self.config}"
        )


class Added(BaseModel):
    """A document that is in the library now, or was already."""

    status: Literal["added", "already_in_library"]
    document: Listed
    warnings: Warnings = []


class NotDescribed(BaseModel):
    """An element that the vision model had nothing to say about."""

    element_label: str
    page_number: int
    reason: str


class Enriched(BaseModel):
    """What a vision model has said about a document's elements."""

    document_slug: str
    asked: int = Field(description="Answers that the model gave.")
    remembered: int = Field(description="Answers that were known from before.")
    remaining: int = Field(description="Elements that were left for another run.")
    not_described: list[NotDescribed]


class Elements(BaseModel):
    """Elements of a document, and where to go on."""

    elements: list[Details]
    next_element: int | None


SearchAnswer = Answer[Found | Failed]
DetailsAnswer = Answer[Details | Failed]
InfoAnswer = Answer[Listed | Failed]
MatchesAnswer = Answer[Matches | Failed]
ListingAnswer = Answer[Listing | Failed]
ListedPageAnswer = Answer[ListedPage | Failed]
StatusAnswer = Answer[Status | Failed]
AddAnswer = Answer[Added | Failed]
EnrichAnswer = Answer[Enriched | Failed]
ElementsAnswer = Answer[Elements | Failed]


def text_result(answer: BaseModel, text: str | None = None) -> CallToolResult:
    """A response with text (by default JSON) and structured content."""
    return CallToolResult(
        content=[TextContent(type="text", text=text if text is not None else as_json(answer))],
        structured_content=answer.model_dump(mode="json"),
    )


def image_result(text: str, picture: str) -> CallToolResult:
    """A response with text and a base64-encoded PNG image."""
    return CallToolResult(
        content=[
            TextContent(type="text", text=text),
            ImageContent(type="image", data=picture, mime_type="image/png"),
        ]
    )


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS].rstrip() + "..."
