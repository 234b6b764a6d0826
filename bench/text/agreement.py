"""Comparison of the chunks that quinion and the plain stack stored: texts and vectors.

    python -m bench.text.agreement OUR_CHROMA PLAIN_CHROMA

Reads both Chroma folders after the processes have exited, and prints JSON. It runs in a separate
process to keep the measuring process small.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

LEAST_COSINE = 0.99
"""Required of an int8 engine; float32 reaches 1.0000000."""

Vector = NDArray[np.float32]
Key = tuple[str, int]
"""File and index of a chunk."""
Chunks = dict[Key, tuple[str, Vector]]
Metadata = Mapping[str, object]


@dataclass(frozen=True)
class Agreement:
    chunks: int
    """Number of chunks on the side that has more."""
    same_texts: int
    different_texts: int
    """Number of distinct texts."""
    cosine_min: float
    cosine_mean: float
    difference_max: float
    """The cosines and this difference compare the vectors of identical texts."""

    @property
    def holds(self) -> bool:
        """Whether both stored the same chunks; otherwise the ratios are meaningless."""
        return self.same_texts == self.chunks and self.cosine_min >= LEAST_COSINE


def compare(ours: Chunks, plain: Chunks) -> Agreement:
    """Compare the chunks of both sides."""
    both = ours.keys() & plain.keys()
    same = [(ours[key][1], plain[key][1]) for key in sorted(both) if ours[key][0] == plain[key][0]]
    cosines = [cosine(one, other) for one, other in same]
    return Agreement(
        chunks=max(len(ours), len(plain)),
        same_texts=len(same),
        different_texts=len({text for text, _ in ours.values()}),
        cosine_min=min(cosines, default=0.0),
        cosine_mean=float(np.mean(cosines)) if cosines else 0.0,
        difference_max=max((float(np.abs(a - b).max()) for a, b in same), default=1.0),
    )


def cosine(one: Vector, other: Vector) -> float:
    one, other = one.astype(np.float64), other.astype(np.float64)
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


def read_ours(folder: Path) -> Chunks:
    client = connect(folder)
    registry = client.get_collection("document_registry").get(include=["metadatas"])
    paths = {
        id_: str(metadata["file_path"])
        for id_, metadata in zip(registry["ids"], registry["metadatas"] or (), strict=True)
    }
    return read_chunks(client, lambda metadata: paths[str(metadata["document_id"])])


def read_plain(folder: Path) -> Chunks:
    return read_chunks(connect(folder), lambda metadata: str(metadata["file_path"]))


def connect(folder: Path) -> "ClientAPI":
    # Imported late: the measuring process also imports this module and must stay small.
    import chromadb
    from chromadb.config import Settings

    return chromadb.PersistentClient(path=folder, settings=Settings(anonymized_telemetry=False))


def read_chunks(client: "ClientAPI", file_of: Callable[[Metadata], str]) -> Chunks:
    stored = client.get_collection("application_docs").get(
        include=["documents", "metadatas", "embeddings"]
    )
    vectors = np.asarray(stored["embeddings"], np.float32)
    return {
        (file_of(metadata), int(str(metadata["chunk_index"]))): (text, vector)
        for metadata, text, vector in zip(
            stored["metadatas"] or (), stored["documents"] or (), vectors, strict=True
        )
    }


if __name__ == "__main__":
    agreement = compare(read_ours(Path(sys.argv[1])), read_plain(Path(sys.argv[2])))
    print(json.dumps(asdict(agreement)))
