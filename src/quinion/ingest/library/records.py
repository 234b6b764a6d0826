"""Storage format of documents, chunks and elements: collections, ids and metadata."""

import json
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from quinion.embed.base import Vectors
from quinion.model.chunk import FileChunk
from quinion.model.element import Element, ElementType, element_of_json, fold_label
from quinion.model.page import PAGE_SPANS
from quinion.model.record import Record, flag, is_flagged
from quinion.store.base import Selector

DOCUMENTS = "library_documents"
CONTENT = "library_content"
TEXT = "text"
"""The `kind` of a chunk; the `kind` of an element is its type."""

EMBEDDED_CHARACTERS = 1_200
"""Maximum length of an element's text. The model reads the first 254 tokens of it."""


@dataclass(frozen=True, slots=True)
class LibraryDocument:
    """A document of the library."""

    slug: str
    title: str
    source_file: str
    sha256: str
    total_pages: int
    keywords: tuple[str, ...]
    date_added: datetime
    counts: dict[str, int]

    def selectors(self) -> list[Selector]:
        """Select everything stored for the document, its own record first."""
        return [
            Selector.by_ids(DOCUMENTS, [self.slug]),
            Selector.by_values(CONTENT, document_slug=self.slug),
        ]


@dataclass(frozen=True, slots=True)
class LibraryElement:
    """A stored element, with its description and LaTeX from a vision model, if any.

    `has_hidden` marks elements from a page with invisible text.
    """

    id: str
    document_slug: str
    element: Element
    description: str = ""
    latex: str = ""
    has_hidden: bool = False


def possible_slugs(file: Path) -> Iterator[str]:
    """Slugs for a file: one made from its name, then numbered alternatives."""
    # Some systems store accents as separate characters.
    name = unicodedata.normalize("NFKC", file.stem).casefold()
    words = "".join(c if c.isalnum() else " " for c in name).split()
    slug = "_".join(words)[:60].strip("_") or "document"
    yield slug
    number = 2
    while True:
        yield f"{slug}_{number}"
        number += 1


def count_types(elements: Iterable[Element]) -> dict[str, int]:
    """Number of elements of each type, including types without elements."""
    counted = Counter(str(element.type) for element in elements)
    return {f"{kind}s": counted[kind] for kind in ElementType}


def document_record(document: LibraryDocument) -> Record:
    """The stored form of a document, an entry in the list of documents."""
    return Record(
        id=document.slug,
        text=document.title,
        metadata={
            "title": document.title,
            "source_file": document.source_file,
            "sha256": document.sha256,
            "total_pages": document.total_pages,
            "keywords": json.dumps(document.keywords),
            "date_added": document.date_added.isoformat(timespec="seconds"),
            "counts": json.dumps(document.counts),
        },
    )


def document_of(record: Record) -> LibraryDocument:
    """Read a record written by `document_record`."""
    metadata = record.metadata
    return LibraryDocument(
        slug=record.id,
        title=str(metadata["title"]),
        source_file=str(metadata["source_file"]),
        sha256=str(metadata["sha256"]),
        total_pages=int(metadata["total_pages"]),
        keywords=tuple(json.loads(str(metadata["keywords"]))),
        date_added=datetime.fromisoformat(str(metadata["date_added"])),
        counts=json.loads(str(metadata["counts"])),
    )


def chunk_records(slug: str, chunks: Sequence[FileChunk]) -> list[Record]:
    """The stored form of a document's chunks."""
    return [
        Record(
            id=f"{slug}:text:{index}",
            text=chunk.text,
            metadata={
                "document_slug": slug,
                "kind": TEXT,
                "page_number": chunk.metadata["page_number"],
                PAGE_SPANS: chunk.metadata[PAGE_SPANS],
                **flag(bool(chunk.hidden)),
            },
        )
        for index, chunk in enumerate(chunks)
    ]


def figures_of(
    slug: str, elements: Iterable[Element], hidden: Collection[int] = ()
) -> list[LibraryElement]:
    """Give each element an id; `hidden` are the pages with invisible text."""
    return [
        LibraryElement(f"{slug}:element:{index}", slug, element, has_hidden=element.page in hidden)
        for index, element in enumerate(elements)
    ]


def figure_record(figure: LibraryElement) -> Record:
    """The stored form of an element; searches match its `text`."""
    element = figure.element
    return Record(
        id=figure.id,
        text=searchable_text(figure),
        metadata={
            "document_slug": figure.document_slug,
            "kind": str(element.type),
            "page_number": element.page,
            "label": element.label,
            "folded": fold_label(element.label),
            "element": json.dumps(asdict(element)),
            "description": figure.description,
            "latex": figure.latex,
            **flag(figure.has_hidden),
        },
    )


def figure_of(record: Record) -> LibraryElement:
    """Read a record written by `figure_record`."""
    metadata = record.metadata
    return LibraryElement(
        id=record.id,
        document_slug=str(metadata["document_slug"]),
        element=element_of_json(json.loads(str(metadata["element"]))),
        description=str(metadata["description"]),
        latex=str(metadata["latex"]),
        has_hidden=is_flagged(metadata),
    )


def searchable_text(figure: LibraryElement) -> str:
    """The text by which an element is found, the most specific parts first."""
    element = figure.element
    parts = [element.caption or element.label, figure.description, element.context, element.text]
    return "\n".join(part for part in parts if part)[:EMBEDDED_CHARACTERS]


def placeholder() -> Vectors:
    """Dummy vector for a record that semantic search never reads."""
    return np.zeros((1, 1), np.float32)


def now() -> datetime:
    """The current time, for `date_added`."""
    return datetime.now(UTC)
