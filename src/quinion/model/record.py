"""What a vector store keeps, and what a search brings back."""

from collections.abc import Mapping
from dataclasses import dataclass

Scalar = str | int | float | bool
Metadata = Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of a collection: a chunk, or a line of a registry."""

    id: str
    text: str
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that a query found; `score` is 0 to 1, higher is nearer."""

    record: Record
    score: float


def score_of_distance(squared_l2: float) -> float:
    """The specs' relevance score; for unit vectors it is the cosine similarity, floored at 0."""
    return max(0.0, 1.0 - squared_l2 / 2.0)
