"""Whether ours and the plain stack have stored the same: chunk by chunk, text and vector.

    python -m bench.text.agreement OUR_CHROMA PLAIN_CHROMA

Reads the folders of Chroma after both processes have ended. Prints JSON; it is a process of its
own so that the measuring one stays small.
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
"""Of an engine that calculates in eight bits; float32 has 1.0000000."""

Vector = NDArray[np.float32]
Key = tuple[str, int]
"""A file and the place of a chunk in it."""
Chunks = dict[Key, tuple[str, Vector]]
Metadata = Mapping[str, object]


@dataclass(frozen=True)
class Agreement:
    chunks: int
    """On the side that has more."""
    same_texts: int
    different_texts: int
    """A text that several chunks have counts once."""
    cosine_min: float
    cosine_mean: float
    difference_max: float
    """These three of the vectors of the same texts."""

    @property
    def holds(self) -> bool:
        """Whether both have stored the same, without which no ratio means anything."""
        return self.same_texts == self.chunks and self.cosine_min >= LEAST_COSINE


def compare(ours: Chunks, plain: Chunks) -> Agreement:
    """Put the chunks of both side by side."""
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
    # Here, not above: the measuring process has this module too, and is to stay small.
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
