"""A filled store, what it answers, and ways to damage its files."""

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from quinion.errors import StoreUnavailable
from quinion.model.record import Record
from quinion.store.chroma import Place
from quinion.store.rebuilding import rebuild
from quinion.store.rows import Vectors
from quinion.store.vectors import VectorStore
from tests.unit.store.stores import open_store

COUNT = 1_500
"""So many that Chroma writes its graph."""
DIMENSIONS = 64
COLLECTION = "texts"


def make_vectors(count: int, seed: int) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def fill(folder: Path) -> None:
    """All that a store may have been through: written, replaced, changed and deleted."""
    records = [
        Record(f"id {n}", f"the text of {n}.", {"n": n, "half": n % 2, "name": f"näme {n}"})
        for n in range(COUNT)
    ]
    vectors = make_vectors(COUNT, 1)
    with closing(open_store(folder)) as store:
        for start in range(0, COUNT, 300):
            store.upsert(COLLECTION, records[start : start + 300], vectors[start : start + 300])
        store.delete_ids(COLLECTION, ["id 11", "id 12"])
        store.upsert("lines", [Record("line", "one line", {"k": "v"})], np.zeros((1, 1), "f4"))


def ask(folder: Path) -> list[Any]:
    """What is found, by meaning and by filter, and all that is kept."""
    answers: list[Any] = []
    with closing(open_store(folder)) as store:
        store.agree([COLLECTION, "lines"])
        for where in (None, {"half": 1}, {"n": {"$lt": 300}}, {"name": {"$contains": "7"}}):
            for vector in make_vectors(5, 2):
                hits = store.query(COLLECTION, vector, 10, where)
                answers.append([(hit.record, round(hit.score, 6)) for hit in hits])
        for name in (COLLECTION, "lines"):
            answers.append(sorted(store.get(name), key=lambda record: record.id))
    return answers


def verify(store: VectorStore, *, repair: bool = False) -> tuple[list[str], list[str]]:
    """The problems that are found, and what was mended."""
    problems = store.prover.find_damage()
    mended: list[str] = []
    for name in (COLLECTION, "lines"):
        proof = store.prover.verify(name, repair=repair and not problems)
        problems += proof.problems
        mended += proof.mended
    return problems, mended


def make_well(folder: Path) -> list[str]:
    """Do what the messages tell a user to do; what is lost all the same."""
    try:
        with closing(open_store(folder)) as store:
            problems, _ = verify(store, repair=True)
        if not problems:
            return []
    except StoreUnavailable as error:
        assert "quinion rebuild" in error.message, error.message
    done = rebuild(folder / "ledger", Place(folder / "chroma"))
    assert not done.problems
    return done.lost


def copy_store(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target


def flip(path: Path, place: int, bit: int = 0) -> None:
    """Turn one bit over."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def flip_in(path: Path, sought: bytes) -> None:
    """Turn a bit over in the first place where this is written."""
    place = path.read_bytes().find(sought)
    assert place >= 0
    flip(path, place)


def truncate(path: Path, part: float = 0.5) -> None:
    """Cut a file off."""
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
