"""Chroma gets what the ledger has: later, in the end, whatever happens meanwhile."""

import shutil
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quinion.errors import StoreUnavailable
from quinion.model.record import Metadata, Record
from quinion.store.apart import ApartChroma
from quinion.store.chroma import Chroma, Place
from quinion.store.journal import Trace
from tests.unit.store.stores import open_store

NAME = "texts"
VECTORS = np.eye(4, dtype=np.float32)


def record(id_: int, text: str = "text", **metadata: Any) -> Record:
    return Record(str(id_), text, {"id": id_, **metadata})


def in_chroma(folder: Path) -> dict[str, Metadata]:
    """By id, the metadata of what Chroma has."""
    with closing(Chroma(Place(folder / "chroma"))) as chroma:
        records, _ = chroma.get(NAME, chroma.ids(NAME))
    return {one.id: dict(one.metadata) for one in records}


def test_nobody_waits_for_chroma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_store(tmp_path)) as store:
        store.agree([NAME])
        monkeypatch.setattr("quinion.store.following.QUIET_S", 0.2)
        given_ = threading.Event()
        write = ApartChroma.upsert

        def note(self: ApartChroma, *args: Any) -> None:
            write(self, *args)
            given_.set()

        monkeypatch.setattr(ApartChroma, "upsert", note)
        store.upsert(NAME, [record(1), record(2)], VECTORS[:2])
        assert not given_.is_set()
        assert [hit.record.id for hit in store.query(NAME, VECTORS[0], 1)] == ["1"]
        assert given_.wait(10)
        store.catch_up(NAME)
        assert store.ledger.debts.count() == 0
    assert in_chroma(tmp_path).keys() == {"1", "2"}


def test_a_store_that_is_closed_owes_nothing(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)) as store:
        store.upsert(NAME, [record(1), record(2)], VECTORS[:2])
        store.delete_ids(NAME, ["1"])
    assert in_chroma(tmp_path).keys() == {"2"}


def test_closing_goes_on_for_a_moment_and_leaves_the_rest_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("quinion.store.following.STEP", 1)
    with closing(open_store(tmp_path)) as store:
        store.agree([NAME])
        monkeypatch.setattr("quinion.store.following.CLOSING_S", 0.0)
        store.upsert(NAME, [record(n) for n in range(4)], VECTORS)
    assert "they are over" in caplog.text
    assert not in_chroma(tmp_path)
    monkeypatch.undo()
    with closing(open_store(tmp_path)) as store:
        assert store.ledger.debts.count() == 4
        assert len(store.query(NAME, VECTORS[0], 4)) == 4
    # A search is enough for it.
    assert in_chroma(tmp_path).keys() == {"0", "1", "2", "3"}


def test_closing_does_not_wait_until_a_lost_chroma_is_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_store(tmp_path)) as store:
        store.upsert(NAME, [record(n) for n in range(4)], VECTORS)
    shutil.rmtree(tmp_path / "chroma")
    monkeypatch.setattr("quinion.store.agreement.STEP", 1)
    monkeypatch.setattr("quinion.store.following.CLOSING_S", 0.0)
    begun, go_on = threading.Event(), threading.Event()
    write = ApartChroma.upsert

    def wait(self: ApartChroma, *args: Any) -> None:
        begun.set()
        assert go_on.wait(10)
        write(self, *args)

    monkeypatch.setattr(ApartChroma, "upsert", wait)
    store = open_store(tmp_path)
    assert len(store.get(NAME)) == 4
    assert begun.wait(10)
    threading.Timer(0.5, go_on.set).start()
    store.close()
    assert len(in_chroma(tmp_path)) == 1


def test_an_empty_chroma_gets_all_in_the_order_in_which_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_store(tmp_path)) as store:
        store.upsert(NAME, [record(0), record(1)], VECTORS[:2])
        store.catch_up(NAME)
        monkeypatch.setattr("quinion.store.following.CLOSING_S", 0.0)
        store.upsert(NAME, [record(2), record(3)], VECTORS[2:])
    shutil.rmtree(tmp_path / "chroma")
    with closing(open_store(tmp_path)) as store:
        assert store.ledger.debts.count() == 2
        store.reconcile(NAME)
        assert store.ledger.debts.count() == 0
    with closing(Chroma(Place(tmp_path / "chroma"))) as chroma:
        assert chroma.ids(NAME) == ["0", "1", "2", "3"]


DIES = """
import os, sys
import numpy as np
from pathlib import Path
from quinion.model.record import Record
from quinion.store.journal import Trace
from tests.unit.store.stores import open_store
store = open_store(Path(sys.argv[1]))
records = [Record(str(n), "text", {"id": n, "kind": "old"}) for n in range(4)]
store.upsert("texts", records, np.eye(4, dtype="f4"))
store.catch_up("texts")
store.delete_ids("texts", ["0"])
store.upsert("texts", [Record("1", "another", {"id": 1})], np.eye(4, dtype="f4")[1:2])
store.set_metadata(Trace("texts", ids=("2",)), {"kind": "new"})
store.upsert("texts", [Record("4", "one more", {"id": 4})], np.eye(4, dtype="f4")[:1])
os._exit(9)
"""


def test_what_a_process_left_is_given_by_the_next(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", DIES, str(tmp_path)], check=False)
    assert ended.returncode == 9
    with closing(open_store(tmp_path)) as store:
        assert store.ledger.debts.count() == 4
        # What was deleted is not taken for something that another program has written.
        assert {one.id for one in store.get(NAME)} == {"1", "2", "3", "4"}
        store.agree([NAME])
        assert store.ledger.debts.count() == 0
        assert {one.id for one in store.get(NAME)} == {"1", "2", "3", "4"}
        assert store.prover.verify(NAME).problems == ()
    assert in_chroma(tmp_path) == {
        "1": {"id": 1},
        "2": {"id": 2, "kind": "new"},
        "3": {"id": 3, "kind": "old"},
        "4": {"id": 4},
    }


def test_what_chroma_refuses_it_gets_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(self: ApartChroma, *args: Any) -> None:
        raise StoreUnavailable("no")

    with closing(open_store(tmp_path)) as store:
        store.agree([NAME])
        monkeypatch.setattr(ApartChroma, "upsert", refuse)
        store.upsert(NAME, [record(1)], VECTORS[:1])
        # Only so much, and then whoever writes is told.
        monkeypatch.setattr("quinion.store.following.TOO_FAR_BEHIND", 2)
        with pytest.raises(StoreUnavailable, match="no"):
            store.upsert(NAME, [record(2)], VECTORS[1:2])
    assert "Chroma is behind" in caplog.text
    monkeypatch.undo()
    with closing(open_store(tmp_path)) as store:
        store.agree([NAME])
    assert in_chroma(tmp_path).keys() == {"1", "2"}


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(("write", "delete", "set", "drop", "give")),
        st.integers(0, 3),
        st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), min_size=1),
    ),
    max_size=12,
)


@settings(
    # Few: each starts a process with Chroma, which takes seconds on a slow machine.
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(changes=CHANGES)
def test_both_have_the_same_in_the_end(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, int, dict[str, int]]]
) -> None:
    folder = tmp_path_factory.mktemp("following")
    with closing(open_store(folder)) as store:
        for do, id_, metadata in changes:
            match do:
                case "write":
                    store.upsert(NAME, [Record(str(id_), do, metadata)], VECTORS[id_ : id_ + 1])
                case "delete":
                    store.delete_ids(NAME, [str(id_)])
                case "set":
                    store.set_metadata(Trace(NAME, ids=(str(id_),)), metadata)
                case "drop":
                    store.delete(Trace(NAME))
                case _:
                    store.catch_up(NAME)
        ours = {one.id: dict(one.metadata) for one in store.get(NAME)}
        store.catch_up(NAME)
        assert in_chroma(folder) == ours
