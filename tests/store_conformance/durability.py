"""Durability: committed data survives reopening the store and killing its process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from quinion.store.base import Selector, VectorStore
from tests.crash.layer import why_not
from tests.store_conformance.adapter import (
    Adapter,
    OpenStore,
    check_intact,
    contents,
    hit_ids,
    record,
    vector_of,
    write,
)
from tests.store_conformance.kills import SCENES
from tests.store_conformance.transactions import Interrupted, change_everything, fill

ROOT = Path(__file__).parents[2]
WHY_NOT = why_not()


class Durability(Adapter):
    durable = True

    def test_everything_is_there_after_it_was_opened_again(self, open_store: OpenStore) -> None:
        store = open_store()
        fill(store)
        with store.transaction() as transaction:
            change_everything(transaction)
        before = contents(store)
        for _ in range(3):
            store.close()
            store = open_store()
            assert contents(store) == before
            check_intact(store)
        hits = store.search_vectors("chunks", vector_of("another text"), 1, {"document": "a"})
        assert hit_ids(hits) == ["a0"]

    def test_a_rolled_back_transaction_is_not_there_after_it_was_opened_again(
        self, open_store: OpenStore
    ) -> None:
        store = open_store()
        fill(store)
        before = contents(store)
        with pytest.raises(Interrupted), store.transaction() as transaction:
            change_everything(transaction)
            raise Interrupted
        store.close()
        store = open_store()
        assert contents(store) == before
        check_intact(store)

    def test_an_empty_store_is_empty_when_it_is_opened_again(self, open_store: OpenStore) -> None:
        open_store().close()
        store = open_store()
        assert contents(store) == {"collections": {}, "values": {}}
        write(store, "c", [record("a")])

    def test_writes_go_on_after_it_was_opened_again(self, open_store: OpenStore) -> None:
        for turn in range(5):
            store = open_store()
            self._write_turn(store, turn)
            check_intact(store)
            store.close()
        store = open_store()
        assert [one.metadata["turn"] for one in store.get("c")] == [2] * 10 + [3] * 10 + [4] * 20

    def _write_turn(self, store: VectorStore, turn: int) -> None:
        write(store, "c", [record(f"{turn} {n}", turn=turn) for n in range(20)])
        with store.transaction() as transaction:
            transaction.delete(Selector.by_values("c", turn=turn - 3))
            some = [f"{turn - 1} {n}" for n in range(10)]
            transaction.delete(Selector.by_ids("c", some))


class InFolder(Adapter):
    has_files = True

    @pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
    @pytest.mark.timeout(600)
    @pytest.mark.parametrize(
        "points", [10, pytest.param(60, marks=pytest.mark.slow)], ids=["few", "many"]
    )
    @pytest.mark.parametrize("scene", SCENES)
    def test_a_kill_at_any_write_leaves_the_state_between_two_transactions(
        self, scene: str, points: int
    ) -> None:
        """Runs in a separate process, which must be single-threaded."""
        adapter = f"{type(self).__module__}:{type(self).__qualname__}"
        ended = subprocess.run(
            [sys.executable, "-m", "tests.store_conformance.kills", adapter, scene, str(points)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        tally = json.loads(ended.stdout)
        assert tally["flaws"] == []
        assert tally["kills"] == min(points, tally["calls"])
        assert tally["calls"] > 10
