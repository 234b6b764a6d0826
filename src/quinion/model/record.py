"""Records of the vector store, and hits of a search."""

from collections.abc import Mapping
from dataclasses import dataclass

Scalar = str | int | float | bool
Metadata = Mapping[str, Scalar]

HIDDEN_TEXT = "hidden_text"
"""Metadata key of a chunk; absent if its pages have no hidden text."""


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of a collection: a chunk, or an entry of a registry."""

    id: str
    text: str
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result; `score` is 0 to 1, higher is nearer."""

    record: Record
    score: float


def score_of_distance(squared_l2: float) -> float:
    """Relevance score of the specs: for unit vectors the cosine similarity, at least 0."""
    return max(0.0, 1.0 - squared_l2 / 2.0)


def flag(has_hidden: bool) -> Metadata:
    """Return the metadata of a chunk's flag, empty if there is no hidden text."""
    return {HIDDEN_TEXT: True} if has_hidden else {}


def is_flagged(metadata: Metadata) -> bool:
    """Return whether a chunk with this metadata is flagged."""
    return bool(metadata.get(HIDDEN_TEXT, False))
