"""Kill tests: kill a process at calls that change its store's files, then inspect the store.

    python -m tests.store_conformance.kills MODULE:CLASS SCENE POINTS

CLASS is the adapter's test class, which opens the store. Prints the tally as JSON.
"""

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from quinion.store.base import Selector, Transaction, VectorStore
from tests.crash.layer import KILL, Call, Decide, Run, Say, let_all, watch
from tests.store_conformance.adapter import (
    MODEL,
    Adapter,
    State,
    check_intact,
    contents,
    record,
    vectors_of,
)

Change = Callable[[Transaction], object]


def prepare(transaction: Transaction) -> None:
    """Write three documents to two collections, some lines and a value."""
    drop_everything(transaction)
    for document in ("a", "b", "c"):
        chunks = [record(f"{document} {n}", document=document, n=n) for n in range(12)]
        transaction.upsert("chunks", chunks, vectors_of(chunks), MODEL)
        entry = [record(document, chunks=12)]
        transaction.upsert("registry", entry, vectors_of(entry), "")
    lines = [record(f"line {n}", n=n) for n in range(5)]
    transaction.upsert("lines", lines, vectors_of(lines), "model-b")
    transaction.set_value("state", "prepared")


def replace_document(transaction: Transaction) -> None:
    """Write different chunks, some with the same ids, and replace the registry entry."""
    transaction.delete(Selector.by_values("chunks", document="a"))
    chunks = [record(f"a {n}", f"new text {n}", document="a", n=n) for n in range(5, 20)]
    transaction.upsert("chunks", chunks, vectors_of(chunks), MODEL)
    entry = [record("a", "new entry", chunks=15)]
    transaction.upsert("registry", entry, vectors_of(entry), "")
    transaction.set_value("state", "replaced")


def update_metadata(transaction: Transaction) -> None:
    transaction.update_metadata(Selector.by_values("chunks", document="b"), {"seen": True})
    transaction.update_metadata(Selector.by_ids("registry", ["b"]), {"seen": True})


def delete_document(transaction: Transaction) -> None:
    transaction.delete(Selector.by_values("chunks", document="c"))
    transaction.delete(Selector.by_ids("registry", ["c"]))
    transaction.delete_value("state")


def drop_collection(transaction: Transaction) -> None:
    transaction.delete(Selector.everything("lines"))
    transaction.set_value("lines", "dropped")


def create_again(transaction: Transaction) -> None:
    """Write into freed slots and into a collection with a previously used name."""
    transaction.delete(Selector.by_values("chunks", document="d"))
    chunks = [record(f"d {n}", document="d", n=n) for n in range(30)]
    transaction.upsert("chunks", chunks, vectors_of(chunks), MODEL)
    lines = [record(f"line {n}", f"new line {n}", n=n) for n in range(3)]
    transaction.upsert("lines", lines, vectors_of(lines), "model-c")


def drop_everything(transaction: Transaction) -> None:
    for name in ("chunks", "registry", "lines"):
        transaction.delete(Selector.everything(name))
    for key in ("state", "lines"):
        transaction.delete_value(key)


CHANGES = [replace_document, update_metadata, delete_document, drop_collection, create_again]
SCENES: dict[str, tuple[Sequence[Change], Sequence[Change]]] = {
    "filled": ([prepare], CHANGES),
    "new": ([], [prepare, *CHANGES, drop_everything]),
}
"""Initial content and killed transactions by scene."""


class Theatre:
    """One store, restored before each run. Each run is a separate process."""

    def __init__(self, adapter: Adapter, folder: Path, scene: str) -> None:
        self._adapter = adapter
        self._folder = folder
        self._store, self._template = folder / "store", folder / "template"
        before, self._changes = SCENES[scene]
        if before:
            self._run(lambda store, say: self._commit(store, before, say))
            shutil.copytree(self._store, self._template)
        run = self._run(self._say_states)
        self.states: list[State] = run.said
        assert len(self.states) == len(self._changes) + 1

    def act(self, decide: Decide = let_all) -> Run:
        """Commit the transactions one after the other and acknowledge each."""
        shutil.rmtree(self._store, ignore_errors=True)
        if self._template.exists():
            shutil.copytree(self._template, self._store)
        return watch(
            self._store.parent,
            lambda say: self._open(lambda store: self._commit(store, self._changes, say)),
            decide,
            log=self._folder.with_suffix(".log"),
        )

    def look(self) -> tuple[State, State]:
        """Return the contents after reopening, and after repeating the transactions."""
        before, after = self._run(self._look).said
        return before, after

    def _say_states(self, store: VectorStore, say: Say) -> None:
        say(contents(store))
        for change in self._changes:
            self._commit(store, [change], lambda _: None)
            say(contents(store))

    def _look(self, store: VectorStore, say: Say) -> None:
        check_intact(store)
        say(contents(store))
        self._commit(store, self._changes, lambda _: None)
        check_intact(store)
        say(contents(store))

    def _commit(self, store: VectorStore, changes: Sequence[Change], say: Say) -> None:
        for change in changes:
            with store.transaction() as transaction:
                change(transaction)
            say(change.__name__)

    def _open(self, work: Callable[[VectorStore], None]) -> None:
        with closing(self._adapter.open(self._store)) as store:
            work(store)

    def _run(self, work: Callable[[VectorStore, Say], None]) -> Run:
        log = self._folder.with_suffix(".log")
        run = watch(self._folder, lambda say: self._open(lambda store: work(store, say)), log=log)
        if run.status or run.hung:
            raise RuntimeError(log.read_text())
        return run


def kill_at_points(theatre: Theatre, points: int) -> dict[str, Any]:
    """Kill the process at evenly spaced calls, or at all of them if there are few."""
    calls = len(theatre.act().calls)
    chosen = sorted({point * calls // points for point in range(points)})
    kills, flaws = 0, []
    for place in chosen:
        where = "at its end"

        def decide(call: Call, _: Run, place: int = place) -> int | None:
            nonlocal where
            if call.place != place:
                return None
            where = f"at call {place}, {call.name} of {call.file}"
            return KILL

        run = theatre.act(decide)
        kills += run.status == -9
        # The last transaction may be committed but not acknowledged yet.
        possible = theatre.states[len(run.said) : len(run.said) + 2]
        try:
            found, again = theatre.look()
        except RuntimeError as error:
            flaws.append(f"{where}: {error}")
            continue
        if found not in possible:
            flaws.append(f"{where}, after {run.said}: contents are {found}")
        if again != theatre.states[-1]:
            flaws.append(f"{where}: the same transactions lead to {again}")
    return {"calls": calls, "kills": kills, "flaws": flaws}


def main(name: str, scene: str, points: str) -> None:
    """Load the adapter and run the kill test."""
    module, class_name = name.split(":")
    adapter: Adapter = getattr(import_module(module), class_name)()
    for path, value in adapter.patches.items():
        owner, attribute = path.rsplit(".", 1)
        setattr(import_module(owner), attribute, value)
    with TemporaryDirectory(prefix="store-kills-") as folder:
        theatre = Theatre(adapter, Path(folder).resolve() / "scene", scene)
        print(json.dumps(kill_at_points(theatre, int(points))))


if __name__ == "__main__":
    main(*sys.argv[1:])
