"""Whether both sides have stored the same: chunk by chunk, text and vector.

    python -m bench.agreement OUR_CHROMA PLAIN_CHROMA

Reads the folders of Chroma after both processes have ended. Prints JSON; it is a process of its
own so that the measuring one stays small.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.api import ClientAPI
from chromadb.config import Settings
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Key = tuple[str, int]
"""A file and the place of a chunk in it."""


@dataclass(frozen=True)
class Agreement:
    chunks: int
    """On the side that has more."""
    same_texts: int
    cosine_min: float
    cosine_mean: float
    """Of the vectors of the same texts."""


def compare(ours: Mapping[Key, tuple[str, Vector]], plain: Mapping[Key, tuple[str, Vector]]) -> Agreement:
    """Put the chunks of both side by side."""
    both = ours.keys() & plain.keys()
    same = [key for key in both if ours[key][0] == plain[key][0]]
    cosines = [cosine(ours[key][1], plain[key][1]) for key in same] or [0.0]
    return Agreement(
        max(len(ours), len(plain)), len(same), min(cosines), float(np.mean(cosines))
    )


def cosine(one: Vector, other: Vector) -> float:
    one, other = one.astype(np.float64), other.astype(np.float64)
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


def read_ours(folder: Path) -> dict[Key, tuple[str, Vector]]:
    client = connect(folder)
    registry = client.get_collection("document_registry").get(include=["metadatas"])
    paths = {
        id_: str(metadata["file_path"])
        for id_, metadata in zip(registry["ids"], registry["metadatas"] or (), strict=True)
    }
    return read_chunks(client, lambda metadata: paths[metadata["document_id"]])


def read_plain(folder: Path) -> dict[Key, tuple[str, Vector]]:
    return read_chunks(connect(folder), lambda metadata: str(metadata["file_path"]))


def connect(folder: Path) -> ClientAPI:
    return chromadb.PersistentClient(path=folder, settings=Settings(anonymized_telemetry=False))


def read_chunks(client: ClientAPI, file_of: Any) -> dict[Key, tuple[str, Vector]]:
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
