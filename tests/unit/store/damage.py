"""Filled store with a Chroma mirror, its answers, and functions that damage its files."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quinion.errors import StoreUnavailable
from quinion.lexical.word_query import parse_query
from quinion.model.record import Record
from quinion.store.base import Candidates, Selector, Vectors, VectorStore
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.factory import StorePlace, open_store
from quinion.store.rebuild import RebuildReport, rebuild

COUNT = 1_500
"""Enough records for Chroma to write its graph."""
KEPT = COUNT - 1
"""Records of the filled store, in both collections."""
DIMENSIONS = 64
WIDTH = 4 * DIMENSIONS
"""Bytes of a vector."""
COLLECTION, LINES = "texts", "lines"
NAMES = (COLLECTION, LINES)


@contextmanager
def low_limits() -> Iterator[None]:
    """Lower the limits so that a small collection has binary codes."""
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in (("MIN_CODED", 200), ("MAX_EXACT", 100), ("MAX_EXACT_SCATTERED", 100)):
            patch.setattr(f"quinion.store.embedded.vectors.vector_index.{name}", limit)
        yield


def place_of(home: Path, *, mirrored: bool = True) -> StorePlace:
    return StorePlace(home, home / "store", home / "chroma", mirrored=mirrored)


def database_of(home: Path) -> Path:
    return home / "store" / "store.db"


def vectors_of(home: Path) -> Path:
    return home / "store" / "1.vectors"


def codes_of(home: Path) -> Path:
    return home / "store" / "1.codes"


def chroma_of(home: Path) -> Path:
    return home / "chroma" / "chroma.sqlite3"


def make_vectors(count: int, seed: int, dimensions: int = DIMENSIONS) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def make_record(n: int) -> Record:
    return Record(
        f"id {n}",
        f"the text of {n}.",
        {"n": n, "half": n % 2, "name": f"näme {n}", "title": f"näme {n}"},
    )


def fill(home: Path) -> None:
    """Fill a store: records are written, replaced, changed and deleted."""
    records = [make_record(n) for n in range(COUNT)]
    vectors = make_vectors(COUNT, 1)
    with closing(open_store(place_of(home))) as store:
        for start in range(0, COUNT, 300):
            some = slice(start, start + 300)
            with store.transaction() as transaction:
                transaction.upsert(COLLECTION, records[some], vectors[some], "model")
        with store.transaction() as transaction:
            transaction.upsert(COLLECTION, records[20:25], vectors[20:25], "model")
            transaction.update_metadata(Selector.by_values(COLLECTION, n=30), {"changed": True})
            transaction.delete(Selector.by_ids(COLLECTION, ["id 11", "id 12"]))
            line = Record("line", "one line", {"k": "v"})
            transaction.upsert(LINES, [line], np.zeros((1, 1), np.float32), "model")
            transaction.set_value("a key", "a value")


def ask(home: Path) -> list[Any]:
    """Return search results, filter results, and all stored data."""
    with closing(EmbeddedStore(home / "store")) as store:
        return ask_store(store)


def rank_words(candidates: Candidates) -> Vectors:
    return candidates.words


def ask_store(store: VectorStore) -> list[Any]:
    answers: list[Any] = []
    for where in (None, {"half": 1}, {"n": {"$lt": 300}}, {"name": {"$contains": "7"}}):
        for vector in make_vectors(5, 2):
            hits = store.search_vectors(COLLECTION, vector, 10, where)
            answers.append([(hit.record, round(hit.score, 6)) for hit in hits])
        for words in ("text of 7", '"näme 70"'):
            hits = store.search_words(
                COLLECTION, parse_query(words), make_vectors(1, 2), COUNT, rank_words, where=where
            )
            answers.append(sorted((hit.record.id, str(hit.match)) for hit in hits))
    for name in NAMES:
        records, vectors = store.get_with_vectors(Selector.everything(name))
        pairs = zip(records, (vector.tobytes() for vector in vectors), strict=True)
        answers.append(sorted(pairs, key=lambda pair: pair[0].id))
    answers.append(dict(store.values("a ")))
    return answers


def verify(store: VectorStore, *, repair: bool = False) -> tuple[list[str], list[str]]:
    """Run `quinion verify`; return the problems and the repairs."""
    problems = store.check_files()
    can_repair = repair and not problems
    repaired: list[str] = []
    for name in NAMES:
        report = store.check(name, repair=can_repair)
        problems += report.problems
        repaired += report.repaired
    return problems, repaired


def check(home: Path, *, mirrored: bool = True) -> tuple[list[str], list[str]]:
    with closing(open_store(place_of(home, mirrored=mirrored))) as store:
        return verify(store)


def make_intact(home: Path) -> RebuildReport:
    """Repair the store as the error messages advise."""
    try:
        with closing(open_store(place_of(home))) as store:
            problems, _ = verify(store, repair=True)
        if not problems:
            return RebuildReport()
    except StoreUnavailable as error:
        assert "quinion rebuild" in error.message, error.message
    report = rebuild(place_of(home))
    assert not report.problems
    return report


def copy_home(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target


def execute(path: Path, statement: str) -> None:
    """Change a database without the store's knowledge."""
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement).rowcount


def flip(path: Path, place: int, bit: int = 0) -> None:
    """Flip one bit."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def flip_in(path: Path, sought: bytes) -> None:
    """Flip a bit in the first occurrence of these bytes."""
    place = path.read_bytes().find(sought)
    assert place >= 0
    flip(path, place)


def truncate(path: Path, part: float = 0.5) -> None:
    """Truncate a file."""
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
