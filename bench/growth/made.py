"""Synthetic chunks: repeated real texts with distinct vectors.

Embedding a million texts takes hours, so each vector is a blend of the real vectors of two texts,
plus noise. Chunk n is deterministic, so exact search needs no store and any range can be generated
separately.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quinion.embed.base import Vectors
from quinion.extract.formats import MARKDOWN, TEXT
from quinion.ingest.folders.file_reader import File
from quinion.ingest.folders.records import ID_CHARACTERS, chunk_records
from quinion.ingest.source import Source
from quinion.model.chunk import FileChunk
from quinion.model.record import Record

FILE_CHUNKS = 200
"""Chunks per file; sizes are multiples of it."""
STEP = 10_000
"""Vectors generated per block."""
LEAST_BLEND, MOST_BLEND, NOISE = 0.15, 0.5, 0.25
PAGES = 50
FOLDERS = 40

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Filter:
    """A filter for DocVec and Chroma, and a predicate for the matching chunks."""

    name: str
    where: dict[str, Any] | None
    holds: Callable[[Numbers], NDArray[np.bool_]]


FILTERS = (
    Filter("none", None, lambda chunk: chunk >= 0),
    Filter("half of all", {"file_format": "markdown"}, lambda chunk: chunk // FILE_CHUNKS % 2 == 0),
    Filter("one in fifty", {"page_number": 7}, lambda chunk: chunk % PAGES == 6),
    Filter("one file", {"source_file": "/f4/file4.md"}, lambda chunk: chunk // FILE_CHUNKS == 4),
)
PART_OF_PATH = Filter(
    "part of a path",
    {"source_file": {"$contains": "/f3/"}},
    lambda chunk: chunk // FILE_CHUNKS % FOLDERS == 3,
)
"""A filter that Chroma does not support."""


@dataclass(frozen=True)
class Made:
    """Generator of chunks from real texts and their vectors."""

    texts: Sequence[str]
    base: Vectors

    @cached_property
    def _tokens(self) -> list[int]:
        return [len(text) // 4 for text in self.texts]

    def vectors(self, start: int, end: int) -> Vectors:
        """Return the vectors of the chunks from `start` up to `end`."""
        blocks = range(start // STEP, -(-end // STEP))
        vectors = np.concatenate([self._block(number) for number in blocks])
        first = blocks.start * STEP
        wanted: Vectors = vectors[start - first : end - first]
        return wanted

    def _block(self, number: int) -> Vectors:
        dice = np.random.default_rng(number)
        first, second = dice.integers(0, len(self.base), (2, STEP))
        blend = dice.uniform(LEAST_BLEND, MOST_BLEND, (STEP, 1)).astype(np.float32)
        noise = dice.normal(size=(STEP, self.base.shape[1])).astype(np.float32)
        vectors: Vectors = (1 - blend) * self.base[first] + blend * self.base[second]
        vectors += noise * np.float32(NOISE / self.base.shape[1] ** 0.5)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def records(self, start: int, end: int) -> list[Record]:
        """Return the chunks as DocVec stores them, file by file."""
        files = range(start // FILE_CHUNKS, -(-end // FILE_CHUNKS))
        records = [record for file in files for record in chunk_records(self._file(file))]
        return records[: end - start]

    def _file(self, number: int) -> File:
        kind, suffix = ((MARKDOWN, "md"), (TEXT, "txt"))[number % 2]
        path = Path(f"/f{number % FOLDERS}/file{number}.{suffix}")
        return File(
            Source(path, path, f"{number:0{ID_CHARACTERS}x}"), kind, list(self._chunks(number))
        )

    def _chunks(self, file: int) -> Iterator[FileChunk]:
        for chunk in range(file * FILE_CHUNKS, (file + 1) * FILE_CHUNKS):
            text, tokens = (
                self.texts[chunk % len(self.texts)],
                self._tokens[chunk % len(self.texts)],
            )
            yield FileChunk(text, 0, len(text), tokens, "", {"page_number": chunk % PAGES + 1})

    def save(self, file: Path) -> None:
        np.savez(file, texts=np.array(self.texts), base=self.base)


def load(file: Path) -> Made:
    with np.load(file) as stored:
        return Made(stored["texts"].tolist(), stored["base"])


def chunk_number(chunk_id: str) -> int:
    """Return the number of the chunk with this id."""
    file, _, index = chunk_id.partition("_")
    return int(file, 16) * FILE_CHUNKS + int(index)
