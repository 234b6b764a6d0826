"""Vector index: binary codes for many vectors, and damaged or leftover files."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil
import pytest

from quinion.errors import StoreUnavailable
from quinion.model.record import Record
from quinion.store.base import Selector
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.embedded.vectors import vector_index
from tests.unit.store.embedded.clusters import DIMENSIONS, make_vectors
from tests.unit.store.stores import open_store, records, vectors, write

COUNT = 4_000
STEP = 400
VECTORS = make_vectors(COUNT, 1)
QUERIES = make_vectors(30, 2)
RECALL = 0.98


@pytest.fixture
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits so that the few vectors of a test have binary codes."""
    limits = {"MIN_CODED": 500, "MAX_EXACT": 600, "MAX_EXACT_SCATTERED": 300, "MIN_CANDIDATES": 300}
    for name, limit in limits.items():
        monkeypatch.setattr(vector_index, name, limit)


def fill(store: EmbeddedStore) -> None:
    some = [Record(str(n), "text", {"half": n % 2}) for n in range(COUNT)]
    for start in range(0, COUNT, STEP):
        write(store, "c", some[start : start + STEP], VECTORS[start : start + STEP])


def ask(store: EmbeddedStore, half: int | None = None) -> list[list[str]]:
    where = None if half is None else {"half": half}
    return [
        [hit.record.id for hit in store.search_vectors("c", query, 10, where)] for query in QUERIES
    ]


def recall(answers: Sequence[Sequence[str]], meant: "np.typing.NDArray[np.int64]") -> float:
    found = 0
    for query, answer in zip(QUERIES, answers, strict=True):
        order = np.argsort(-(VECTORS[meant] @ query))[:10]
        found += len({str(n) for n in meant[order]} & set(answer))
    return found / (10 * len(QUERIES))


@pytest.mark.usefixtures("low_limits")
@pytest.mark.parametrize("on_disk", [True, False])
def test_nearly_all_of_the_nearest_are_found_among_many(tmp_path: Path, on_disk: bool) -> None:
    store = open_store(tmp_path if on_disk else None)
    fill(store)
    assert bool(list(tmp_path.glob("*.codes"))) is on_disk
    assert recall(ask(store), np.arange(COUNT)) >= RECALL
    assert recall(ask(store, half=1), np.arange(1, COUNT, 2)) >= RECALL
    assert all(int(id_) % 2 for answer in ask(store, half=1) for id_ in answer)


@pytest.mark.usefixtures("low_limits")
def test_codes_preselect_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few that are compared some of the nearest are missed: so it is codes that choose."""
    monkeypatch.setattr(vector_index, "MIN_CANDIDATES", 12)
    monkeypatch.setattr(vector_index, "CANDIDATES_PER_HIT", 1)
    store = open_store(tmp_path)
    fill(store)
    assert 0.1 < recall(ask(store), np.arange(COUNT)) < 0.9


@pytest.mark.usefixtures("low_limits")
def test_codes_are_reused_and_rebuilt(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store)
    answers = ask(store)
    store.close()
    [file] = tmp_path.glob("*.codes")
    complete = file.read_bytes()
    for left in (len(complete), len(complete) // 3, 0):
        file.write_bytes(complete[:left])
        again = open_store(tmp_path)
        assert ask(again) == answers
        assert again.check("c").problems == ()
        again.close()
    file.unlink()
    assert ask(open_store(tmp_path)) == answers
    used = COUNT * DIMENSIONS // 8  # the last slots are free
    assert file.read_bytes()[:used] == complete[:used]


@pytest.mark.usefixtures("low_limits")
def test_deleted_and_changed_vectors_are_not_found(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store)
    nearest = [answer[0] for answer in ask(store)]
    with store.transaction() as transaction:
        transaction.delete(Selector.by_ids("c", nearest))
    assert not {id_ for answer in ask(store) for id_ in answer} & set(nearest)
    write(store, "c", [Record("new", "text", {"half": 0})], QUERIES[:1])
    assert ask(store)[0][0] == "new"
    with store.transaction() as transaction:
        transaction.delete(Selector.everything("c"))
    assert not list(tmp_path.glob("*.codes"))


@pytest.mark.usefixtures("low_limits")
@pytest.mark.parametrize("on_disk", [True, False])
def test_a_transaction_that_is_rolled_back_leaves_no_codes_without_their_centre(
    tmp_path: Path, on_disk: bool
) -> None:
    store = open_store(tmp_path if on_disk else None)
    some = [Record(str(n), "text", {}) for n in range(COUNT)]
    with pytest.raises(KeyError), store.transaction() as transaction:
        transaction.upsert("c", some, VECTORS[::-1].copy(), "model")
        raise KeyError
    assert store.count(Selector.everything("c")) == 0
    write(store, "c", some, VECTORS)
    answers = ask(store)
    assert recall(answers, np.arange(COUNT)) >= RECALL
    assert store.check("c").problems == ()
    if on_disk:
        store.close()
        assert ask(open_store(tmp_path)) == answers


@pytest.mark.usefixtures("low_limits")
@pytest.mark.parametrize("on_disk", [True, False])
def test_codes_of_a_rolled_back_transaction_are_never_compared(
    tmp_path: Path, on_disk: bool
) -> None:
    store = open_store(tmp_path if on_disk else None)
    fill(store)
    with store.transaction() as transaction:
        transaction.delete(Selector.by_ids("c", [str(n) for n in range(100)]))
    answers = ask(store)
    more = [Record(f"new {n}", "text", {}) for n in range(30)]
    with pytest.raises(KeyError), store.transaction() as transaction:
        transaction.upsert("c", more, QUERIES, "model")  # into slots that are free
        raise KeyError
    assert ask(store) == answers
    assert store.check("c").problems == ()


@pytest.mark.usefixtures("low_limits")
def test_rolled_back_transactions_leave_no_files_open(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    opened = []
    for _ in range(5):
        with pytest.raises(KeyError), store.transaction() as transaction:
            transaction.upsert("c", records(COUNT), VECTORS, "model")
            raise KeyError
        opened.append(psutil.Process().num_fds())
    assert len(set(opened)) == 1, opened


@pytest.mark.parametrize("part", [0, 0.5])
def test_a_truncated_file_of_vectors_is_an_error_and_not_zeros(tmp_path: Path, part: float) -> None:
    store = open_store(tmp_path)
    write(store, "c", records(300), vectors(300))
    store.close()
    [file] = tmp_path.glob("*.vectors")
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * part)])
    again = open_store(tmp_path)
    with pytest.raises(StoreUnavailable, match=r"of 300 vectors: it is damaged.*quinion verify"):
        again.search_vectors("c", vectors(1)[0], 3)
    with pytest.raises(StoreUnavailable, match="damaged"):
        again.get_with_vectors(Selector.everything("c"))
    with pytest.raises(StoreUnavailable, match="damaged"):
        write(again, "c", records(301), vectors(301))
    assert len(again.get("c")) == 300  # reads without vectors succeed
    assert len(again.check("c").problems) > 0


def test_a_file_of_vectors_that_can_not_be_opened_is_an_error_that_names_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, "c", records(3))
    store.close()
    [file] = tmp_path.glob("*.vectors")
    file.unlink()
    file.mkdir()
    again = open_store(tmp_path)
    with pytest.raises(StoreUnavailable, match=rf"{file} cannot be opened"):
        again.search_vectors("c", vectors(1)[0], 3)
