"""How files and chunks are kept: collections, ids and metadata."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from quinion.embed.base import Vectors
from quinion.ingest.source import Source
from quinion.model.chunk import FileChunk
from quinion.model.file_format import Format
from quinion.model.record import Record
from quinion.servers.invisible_text import flag
from quinion.store.base import Selector

CHUNKS, FILES = "docvec-chunks.", "docvec-files."
"""What the names of collections begin with; that of the shelf follows."""
ID_CHARACTERS = 24
"""Of the hash, in a chunk's id: two files that share them will not be met."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """The two collections that an index consists of: its chunks, and its files."""

    name: str

    @classmethod
    def name_of(cls, collection: str) -> str:
        """The name of the shelf that a collection is one of; empty: it is none of DocVec's."""
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
        """The chunks of a file."""
        return Selector.by_values(self.chunks, source_file=path)

    def all_of(self, path: str) -> list[Selector]:
        """All that is kept of a file: its line in the list of files, and its chunks."""
        return [Selector.by_ids(self.files, [path]), self.chunks_of(path)]


@dataclass(frozen=True, slots=True)
class File:
    """A file that was read."""

    source: Source
    format: Format
    chunks: Sequence[FileChunk]

    @property
    def path(self) -> str:
        return str(self.source.path)

    @property
    def chunk_ids(self) -> list[str]:
        return [chunk_id(self.source.sha256, index) for index in range(len(self.chunks))]

    @property
    def hidden(self) -> dict[int, int]:
        """How many characters cannot be seen, by the number of each page that has such."""
        return {
            int(chunk.metadata["page_number"]): chunk.hidden
            for chunk in self.chunks
            if chunk.hidden
        }

    @property
    def total_tokens(self) -> int:
        return sum(chunk.tokens for chunk in self.chunks)


def chunk_id(sha256: str, index: int) -> str:
    """The id of a chunk: the same content has the same ids, whenever it is indexed."""
    return f"{sha256[:ID_CHARACTERS]}_{index}"


def chunk_records(file: File) -> list[Record]:
    """The chunks of a file as they are stored."""
    return [
        Record(
            id=id_,
            text=chunk.text,
            metadata={
                "source_file": file.path,
                "chunk_index": index,
                "file_format": str(file.format),
                "doc_hash": file.source.sha256,
                "token_count": chunk.tokens,
                **chunk.metadata,
                **flag(bool(chunk.hidden)),
            },
        )
        for index, (id_, chunk) in enumerate(zip(file.chunk_ids, file.chunks, strict=True))
    ]


def file_record(file: File) -> Record:
    """The file's line in the list of files."""
    return Record(
        id=file.path,
        text=file.source.path.name,
        metadata={
            "doc_hash": file.source.sha256,
            "file_format": str(file.format),
            "total_tokens": file.total_tokens,
            "indexed_at": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )


def placeholder(count: int) -> Vectors:
    """Vectors for lines that nobody searches by meaning."""
    return np.zeros((count, 1), np.float32)
