"""Adapter interface of the suite, with helpers to write test data and compare contents."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
import pytest

from quinion.model.record import Hit, Metadata, Record, Scalar
from quinion.store.base import Selector, Vectors, VectorStore
from quinion.store.filters import Where, matches

DIMENSIONS = 8
MODEL = "model-a"
PATIENCE_S = 60.0
"""Timeout for events that must happen."""
TOLERANCE = 1e-5
"""Tolerance of scores: stores may sum in a different order."""

OpenStore = Callable[[], VectorStore]
State = dict[str, Any]


class Adapter:
    """Properties of a store, set by its adapter's test class."""

    durable = False
    """Whether committed data survives closing the store."""
    has_files = False
    """Whether `copy_to` writes files that can be opened as a store."""
    readers_wait = False
    """Whether readers wait for an open transaction instead of reading the previous snapshot."""
    patches: ClassVar[Mapping[str, object]] = {}
    """Module attributes, by dotted name, that are patched for all tests of the class."""

    def open(self, folder: Path) -> VectorStore:
        """Open the store in this folder, creating the folder if necessary."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _patched(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in self.patches.items():
            monkeypatch.setattr(name, value)

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Iterator[OpenStore]:
        """Function that opens the same store each time; the test closes it in between."""
        with ExitStack() as stack:

            def open_again() -> VectorStore:
                store = self.open(tmp_path / "store")
                stack.callback(store.close)
                return store

            yield open_again

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Iterator[VectorStore]:
        """An empty store; the test fails if it is not intact afterwards."""
        store = open_store()
        yield store
        check_intact(store)


def vector_of(text: str, dimensions: int = DIMENSIONS) -> Vectors:
    """Return a deterministic unit vector for a text."""
    vector = np.random.default_rng(crc32(text.encode(errors="surrogatepass"))).normal(
        size=dimensions
    )
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def vectors_of(records: Sequence[Record]) -> Vectors:
    """Return the vectors of the records' texts."""
    found = np.empty((len(records), DIMENSIONS), np.float32)
    for place, record in enumerate(records):
        found[place] = vector_of(record.text)
    return found


def record(id_: str, text: str | None = None, /, **metadata: Scalar) -> Record:
    """Build a record; the default text is derived from the id."""
    return Record(id_, f"the text of {id_}" if text is None else text, metadata)


def write(
    store: VectorStore, collection: str, records: Sequence[Record], model: str = MODEL
) -> None:
    """Upsert records with the vectors of their texts, in one transaction."""
    with store.transaction() as transaction:
        transaction.upsert(collection, records, vectors_of(records), model)


def ids(records: Sequence[Record]) -> list[str]:
    return [one.id for one in records]


def hit_ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.record.id for hit in hits]


def contents(store: VectorStore) -> State:
    """Return the contents of a store as plain data."""
    state: State = {}
    for name in sorted(store.collections()):
        records, vectors = store.get_with_vectors(Selector.everything(name))
        state[name] = {
            "model": store.model(name),
            "records": [
                [one.id, one.text, dict(one.metadata), vector.tolist()]
                for one, vector in zip(records, vectors, strict=True)
            ],
        }
    return {"collections": state, "values": dict(sorted(store.values().items()))}


def check_intact(store: VectorStore) -> None:
    """Assert that the store's integrity check reports no problem."""
    assert store.check_files() == []
    for name in store.collections():
        report = store.check(name)
        assert (report.problems, report.warnings, report.repaired) == ((), (), ())
        assert report.records == store.count(Selector.everything(name))


def check_hits(
    hits: Sequence[Hit],
    records: Sequence[Record],
    vectors: Vectors,
    query: Vectors,
    limit: int,
    where: Where | None = None,
) -> None:
    """Assert that the hits equal those of an exact search over the records."""
    expected = {
        one.id: (one, max(0.0, float(vector @ query)))
        for one, vector in zip(records, vectors, strict=True)
        if not where or matches(one.metadata, where)
    }
    found = hit_ids(hits)
    assert len(set(found)) == len(found) == min(limit, len(expected))
    for hit in hits:
        one, score = expected[hit.record.id]
        assert hit.record == one
        assert hit.score == pytest.approx(score, abs=TOLERANCE)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    left = [score for id_, (_, score) in expected.items() if id_ not in found]
    assert not left or not scores or max(left) <= scores[-1] + TOLERANCE


def same_metadata(first: Metadata, second: Metadata) -> bool:
    """Compare keys, values and types, because 1 == True in Python."""
    kinds = [{key: type(value) for key, value in one.items()} for one in (first, second)]
    return dict(first) == dict(second) and kinds[0] == kinds[1]
