"""Rebuild of a hundred thousand chunks without an embedding model."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from quinion.model.record import Record
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.factory import open_store
from tests.unit.store.damage import database_of, make_vectors, place_of, truncate

COUNT = 100_000
DIMENSIONS = 384
COLLECTION = "docvec-chunks.documents"


def fill(home: Path) -> None:
    with closing(open_store(place_of(home))) as store:
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
            with store.transaction() as transaction:
                vectors = make_vectors(5_000, start, DIMENSIONS)
                transaction.upsert(COLLECTION, records, vectors, "model")


def ask(home: Path) -> list[object]:
    with closing(EmbeddedStore(home / "store")) as store:
        return [
            [(hit.record, hit.score) for hit in store.search_vectors(COLLECTION, vector, 10, where)]
            for vector in make_vectors(20, 2, DIMENSIONS)
            for where in (None, {"file_format": "pdf"})
        ]


def rebuild(home: Path) -> None:
    """Rebuild as a user does, in a process without an embedding model."""
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
def test_a_hundred_thousand_chunks_are_rebuilt_without_embedding_one(tmp_path: Path) -> None:
    fill(tmp_path)
    answers = ask(tmp_path)
    shutil.rmtree(tmp_path / "chroma")
    rebuild(tmp_path)
    assert ask(tmp_path) == answers
    truncate(database_of(tmp_path))
    rebuild(tmp_path)
    assert ask(tmp_path) == answers
    with closing(open_store(place_of(tmp_path))) as store:
        report = store.check(COLLECTION)
    assert (report.records, report.problems, report.warnings) == (COUNT, (), ())
