"""Concurrent readers and writers: each read sees exactly one committed version."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

from quinion.model.record import Record
from quinion.store.base import Selector, VectorStore
from tests.store_conformance.adapter import (
    MODEL,
    PATIENCE_S,
    TOLERANCE,
    Adapter,
    record,
    vector_of,
    vectors_of,
)

DOCUMENT = Selector.by_values("chunks", document="d")
QUERY = vector_of("a query")
ALL = 1_000
"""Limit above the number of records."""


def chunks(version: int) -> list[Record]:
    """Build a version of the document; versions differ in the number of chunks."""
    return [
        record(f"d {n}", f"chunk {n} of version {version}", document="d", version=version, n=n)
        for n in range(5 + version * 7 % 23)
    ]


def replace(store: VectorStore, version: int) -> None:
    """Replace the document by another version in all collections, in one transaction."""
    new = chunks(version)
    entry = [record("d", f"version {version}", version=version, chunks=len(new))]
    with store.transaction() as transaction:
        if version % 3 == 0:
            transaction.delete(Selector.everything("chunks"))
        elif version % 3 == 1:
            transaction.delete(DOCUMENT)
        transaction.upsert("chunks", new[::2], vectors_of(new[::2]), MODEL)
        transaction.upsert("chunks", new[1::2], vectors_of(new[1::2]), MODEL)
        gone = [f"d {n}" for n in range(len(new), 40)]
        transaction.delete(Selector.by_ids("chunks", gone))
        transaction.upsert("registry", entry, vectors_of(entry), MODEL)
        transaction.set_value("version", str(version))


def version_of(records: list[Record]) -> int:
    """Return the version of the records; fails unless they form one complete version."""
    version = int(records[0].metadata["version"])
    assert sorted(records, key=lambda one: one.metadata["n"]) == chunks(version)
    return version


def read_all(store: VectorStore) -> int:
    return version_of(store.get("chunks"))


def read_by_filter(store: VectorStore) -> int:
    return version_of(store.get("chunks", where={"document": "d", "n": {"$gte": 0}}))


def read_by_ids(store: VectorStore) -> int:
    return version_of(store.get("chunks", ids=[f"d {n}" for n in range(40)]))


def read_vectors(store: VectorStore) -> int:
    records, vectors = store.get_with_vectors(DOCUMENT)
    np.testing.assert_array_equal(vectors, vectors_of(records))
    return version_of(records)


def search(store: VectorStore) -> int:
    return _version_of_hits(store, None)


def search_by_filter(store: VectorStore) -> int:
    return _version_of_hits(store, {"n": {"$lt": 1_000}})


def _version_of_hits(store: VectorStore, where: dict[str, object] | None) -> int:
    hits = store.search_vectors("chunks", QUERY, ALL, where)
    for hit in hits:
        score = max(0.0, float(vector_of(hit.record.text) @ QUERY))
        assert hit.score == pytest.approx(score, abs=TOLERANCE)
    return version_of([hit.record for hit in hits])


def search_changed(store: VectorStore) -> int:
    """Check that a search does not match values written after its version."""
    version = int(store.values("version")["version"])
    wanted = chunks(version)[-1]
    [hit] = store.search_vectors("chunks", vector_of(wanted.text), 1)
    if hit.record == wanted:
        assert hit.score == pytest.approx(1, abs=TOLERANCE)
    else:
        assert int(hit.record.metadata["version"]) > version
    return version


def read_registry(store: VectorStore) -> int:
    [entry], vectors = store.get_with_vectors(Selector.everything("registry"))
    np.testing.assert_array_equal(vectors, vectors_of([entry]))
    version = int(entry.metadata["version"])
    assert entry.metadata["chunks"] == len(chunks(version))
    # The other collection is read later, so it may have a later version.
    assert read_all(store) >= version
    return version


READS: list[Callable[[VectorStore], int]] = [
    *(read_all, read_by_filter, read_by_ids, read_vectors, read_registry),
    *(search, search_by_filter, search_changed),
]


def read_versions(store: VectorStore, done: Event, first: int) -> Iterator[int]:
    """Return the versions that one reader sees until the writers are done, and one read later."""
    place = first
    while True:
        last = done.is_set()
        for _ in READS:
            yield READS[place % len(READS)](store)
            place += 1
        if last:
            return


class ConcurrencyConformance(Adapter):
    @pytest.mark.parametrize(
        "versions", [40, pytest.param(300, marks=[pytest.mark.slow, pytest.mark.timeout(300)])]
    )
    def test_every_read_sees_one_version_while_a_document_is_replaced(
        self, store: VectorStore, versions: int
    ) -> None:
        replace(store, 1)
        done = Event()

        def read(first: int) -> list[int]:
            return list(read_versions(store, done, first))

        with ThreadPoolExecutor(4) as threads:
            reading = [threads.submit(read, first) for first in (0, 2, 4, 6)]
            try:
                for version in range(2, versions + 1):
                    replace(store, version)
            finally:
                done.set()
            for one in reading:
                seen = one.result(PATIENCE_S)
                assert seen == sorted(seen), "a reader went back in time"
                assert seen[-1] == versions

    def test_counts_are_those_of_a_committed_version(self, store: VectorStore) -> None:
        """Records move from one half to the other and back; their number stays the same."""
        done = Event()
        both = [record(str(n), half=0) for n in range(20)]
        with store.transaction() as transaction:
            transaction.upsert("c", both, vectors_of(both), MODEL)

        def count() -> set[tuple[int, int]]:
            seen = set()
            while True:
                last = done.is_set()
                everything = store.count(Selector.everything("c"))
                seen.add((everything, store.count(Selector.by_values("c", half=0))))
                if last:
                    return seen

        with ThreadPoolExecutor(2) as threads:
            counting = [threads.submit(count) for _ in range(2)]
            for turn in range(1, 40):
                with store.transaction() as transaction:
                    half = {"half": turn % 2}
                    first = Selector.by_ids("c", [str(n) for n in range(10)])
                    second = Selector.by_ids("c", [str(n) for n in range(10, 20)])
                    assert transaction.update_metadata(first, half) == 10
                    assert transaction.update_metadata(second, half) == 10
            done.set()
            for one in counting:
                assert one.result(PATIENCE_S) <= {(20, 0), (20, 20)}

    def test_writers_and_readers_of_several_threads_lose_nothing(self, store: VectorStore) -> None:
        def add(writer: int) -> None:
            for n in range(15):
                one = [record(f"{writer} {n}", writer=writer)]
                with store.transaction() as transaction:
                    transaction.upsert("c", one, vectors_of(one), MODEL)
                assert store.get("c", ids=[one[0].id]) == one
                assert store.count(Selector.by_values("c", writer=writer)) == n + 1
                hits = store.search_vectors("c", vector_of(one[0].text), 1)
                assert hits[0].record == one[0]

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(add, range(4)))
        assert store.count(Selector.everything("c")) == 60
