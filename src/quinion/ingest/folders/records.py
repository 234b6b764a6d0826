"""Storage format of files and chunks: collections, ids and metadata."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from quinion.embed.base import Vectors
from quinion.ingest.folders.file_reader import File
from quinion.model.record import Record, flag
from quinion.store.base import Selector

CHUNKS, FILES = "docvec-chunks.", "docvec-files."
"""Prefixes of the collection names; the name of the index follows."""
ID_CHARACTERS = 24
"""Length of the hash prefix in a chunk id, long enough that collisions do not occur."""


@dataclass(frozen=True, slots=True)
class IndexCollections:
    """The two collections of an index: its chunks and its files."""

    name: str

    @classmethod
    def index_name(cls, collection: str) -> str:
        """The name of the index a collection belongs to; empty if it is not one of DocVec's."""
        for prefix in (CHUNKS, FILES):
            if collection.startswith(prefix):
                return collection.removeprefix(prefix)
        return ""

    @property
    def chunks(self) -> str:
        return f"{CHUNKS}{self.name}"

    @property
    def files(self) -> str:
        return f"{FILES}{self.name}"

    def chunks_of(self, path: str) -> Selector:
        """Select the chunks of a file."""
        return Selector.by_values(self.chunks, source_file=path)

    def all_of(self, path: str) -> list[Selector]:
        """Select everything stored for a file: its file record and its chunks."""
        return [Selector.by_ids(self.files, [path]), self.chunks_of(path)]


def chunk_id(sha256: str, index: int) -> str:
    """The id of a chunk; the same content always has the same ids."""
    return f"{sha256[:ID_CHARACTERS]}_{index}"


def chunk_ids(file: File) -> list[str]:
    """The ids of a file's chunks, in order."""
    return [chunk_id(file.source.sha256, index) for index in range(len(file.chunks))]


def chunk_records(file: File) -> list[Record]:
    """The stored form of a file's chunks."""
    return [
        Record(
            id=id_,
            text=chunk.text,
            metadata={
                "source_file": file.path,
                "chunk_index": index,
                "file_format": file.format.name,
                "doc_hash": file.source.sha256,
                "token_count": chunk.tokens,
                **chunk.metadata,
                **flag(bool(chunk.hidden)),
            },
        )
        for index, (id_, chunk) in enumerate(zip(chunk_ids(file), file.chunks, strict=True))
    ]


def file_record(file: File) -> Record:
    """The stored form of the file itself, an entry in the list of files."""
    return Record(
        id=file.path,
        text=file.source.path.name,
        metadata={
            "doc_hash": file.source.sha256,
            "file_format": file.format.name,
            "total_tokens": file.total_tokens,
            "indexed_at": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )


def placeholder(count: int) -> Vectors:
    """Dummy vectors for records that semantic search never reads."""
    return np.zeros((count, 1), np.float32)
