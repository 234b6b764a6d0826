"""Records of the vector store, and hits of a search."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

Scalar = str | int | float | bool
Metadata = Mapping[str, Scalar]

HIDDEN_TEXT = "hidden_text"
"""Metadata key of a chunk; absent if its pages have no hidden text."""


CONTEXT_KEYS = (
    *("title", "source_title", "source", "version_label", "document_slug", "application_ref"),
    *("section_path", "section_ref", "header_path", "class_name", "function_name", "label"),
)
"""Metadata that says what a chunk stands under: its document and its section."""
FILE_KEY = "source_file"
"""The same, for the name or path of the file."""


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of a collection: a chunk, or an entry of a registry."""

    id: str
    text: str
    metadata: Metadata


class Mode(StrEnum):
    """What a search compares: meaning, words, or both."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class Match:
    """What a search by words found in a record: its score, and the words of the query in it."""

    score: float
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merged result is made of: its chunks, in order, and their pages.

    `same_text` has the ids of results that were left out because this one has their text.
    """

    ids: tuple[str, ...]
    pages: tuple[int, ...]
    same_text: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result; `score` is 0 to 1, higher is nearer.

    A search by words has a `match`. The record of a merged result has the id of its best chunk.
    """

    record: Record
    score: float
    match: Match | None = None
    merged: Merged | None = None


def read_context(metadata: Metadata) -> str:
    """What a chunk stands under, for search by words: title, file name, headings, references."""
    lines = [PurePath(str(metadata.get(FILE_KEY, ""))).name]
    for key in CONTEXT_KEYS:
        lines += str(metadata.get(key, "")).split("\n")
    return "\n".join(dict.fromkeys(filter(None, lines)))


def score_of_distance(squared_l2: float) -> float:
    """Relevance score of the specs: for unit vectors the cosine similarity, at least 0."""
    return max(0.0, 1.0 - squared_l2 / 2.0)


def flag(has_hidden: bool) -> Metadata:
    """Return the metadata of a chunk's flag, empty if there is no hidden text."""
    return {HIDDEN_TEXT: True} if has_hidden else {}


def is_flagged(metadata: Metadata) -> bool:
    """Return whether a chunk with this metadata is flagged."""
    return bool(metadata.get(HIDDEN_TEXT, False))
