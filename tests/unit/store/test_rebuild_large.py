"""A hundred thousand chunks, made anew where there is no model that could embed one of them."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from quinion.model.record import Record
from quinion.pipeline.engine import ledger_folder
from quinion.store.chroma import Chroma, Place
from quinion.store.ledger import Ledger
from quinion.store.vectors import VectorStore

COUNT = 100_000
DIMENSIONS = 384
COLLECTION = "docvec-chunks.documents"


def open_home(home: Path) -> VectorStore:
    place = Place(home / "chroma")
    return VectorStore(Chroma(place), Ledger(ledger_folder(home, place)), lambda: "model")


def make_vectors(count: int, seed: int) -> "np.typing.NDArray[np.float32]":
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def ask(home: Path) -> list[object]:
    with closing(open_home(home)) as store:
        return [
            [(hit.record, hit.score) for hit in store.query(COLLECTION, vector, 10, where)]
            for vector in make_vectors(20, 2)
            for where in (None, {"file_format": "pdf"})
        ]


def rebuild(home: Path) -> None:
    """As a user does, in a process that can't embed."""
    environment = {
        **os.environ,
        "QUINION_HOME": str(home),
        "CHROMA_PERSIST_DIR": str(home / "chroma"),
        "QUINION_MODEL_DIR": str(home / "nowhere"),
    }
    program = "from quinion.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", program, "rebuild"], env=environment, check=True)
    assert not (home / "models").exists()


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_hundred_thousand_chunks_are_made_anew_without_embedding_one(tmp_path: Path) -> None:
    with closing(open_home(tmp_path)) as store:
        for start in range(0, COUNT, 5_000):
            records = [
                Record(
                    f"{n}",
                    f"the text of {n} " * 30,
                    {
                        "source_file": f"/notes/{n // 40}.md",
                        "chunk_index": n % 40,
                        "file_format": ("pdf", "markdown")[n % 2],
                    },
                )
                for n in range(start, start + 5_000)
            ]
            store.upsert(COLLECTION, records, make_vectors(5_000, start))
    answers = ask(tmp_path)
    shutil.rmtree(tmp_path / "chroma")
    rebuild(tmp_path)
    assert ask(tmp_path) == answers
    shutil.rmtree(tmp_path / "ledger")
    rebuild(tmp_path)
    assert ask(tmp_path) == answers
    with closing(open_home(tmp_path)) as store:
        proof = store.prover.verify(COLLECTION)
    assert (proof.records, proof.problems) == (COUNT, ())
