"""Mirror of a store that several engines share: one of them at a time sends the outbox."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from chromadb.errors import ChromaError

from quinion.store.base import Selector, VectorStore
from quinion.store.chroma import follower, replicator
from quinion.store.factory import StorePlace, open_store
from tests.chroma_server import ChromaServer, chroma_server
from tests.postgres_server import PostgresServer, needs_postgres
from tests.unit.store.chroma.chromas import (
    MODEL,
    NAME,
    eventually,
    make_records,
    make_vectors,
    other_program,
    read_chroma,
    read_store,
)

if not needs_postgres.args[0]:
    from quinion.store.postgres.store import PostgresStore

pytestmark = [needs_postgres, pytest.mark.slow]

EXPIRE = "UPDATE quinion.leases SET expires = clock_timestamp() - interval '1 second'"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    with chroma_server(tmp_path_factory.mktemp("chroma")) as server:
        yield server


@pytest.fixture
def chroma(running: ChromaServer) -> ChromaServer:
    """An empty Chroma."""
    with other_program(running.url) as client:
        for one in client.list_collections():
            client.delete_collection(one.name)
    return running


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replicate immediately instead of after some seconds."""
    for module in (replicator, follower):
        monkeypatch.setattr(module, "QUIET_S", 0.05)
    monkeypatch.setattr(follower.Follower, "idle_s", 0.05)
    monkeypatch.setattr(replicator, "RETRY_AFTER_S", 0.05)


@contextmanager
def open_one(home: Path, url: str, mirror: str | None) -> Iterator["PostgresStore"]:
    with ExitStack() as stack:
        place = StorePlace(home, None, mirror, mirror is not None, database=url)
        store = open_store(place)
        stack.callback(store.close)
        assert isinstance(store, PostgresStore)
        yield store


def write(store: VectorStore, *numbers: int, name: str = NAME, **metadata: Any) -> None:
    with store.transaction() as transaction:
        transaction.upsert(name, make_records(*numbers, **metadata), make_vectors(numbers), MODEL)


def is_current(store: VectorStore, chroma: ChromaServer) -> Callable[[], bool]:
    def check() -> bool:
        try:
            return read_chroma(chroma.url) == read_store(store)
        except ChromaError:  # about a collection that is just being created or dropped
            return False

    return check


@pytest.mark.usefixtures("soon")
def test_what_all_engines_write_is_in_chroma(
    tmp_path: Path, url: str, chroma: ChromaServer
) -> None:
    with (
        open_one(tmp_path, url, None) as before,
        open_one(tmp_path, url, chroma.url) as one,
        open_one(tmp_path, url, chroma.url) as two,
    ):
        write(before, *range(5))
        write(one, *range(3, 8), kind="new")
        write(two, 1, name="other.name-1")
        eventually(is_current(one, chroma))
        with two.transaction() as changes:
            changes.delete(Selector.by_ids(NAME, ["id 1"]))
            changes.update_metadata(Selector.by_ids(NAME, ["id 2"]), {"kind": "changed"})
        with before.transaction() as changes:
            changes.delete(Selector.everything("other.name-1"))
        eventually(is_current(one, chroma))
        eventually(lambda: one.mirror_lag().pending == 0)
        with one.transaction() as changes:
            changes.delete(Selector.everything(NAME))
        eventually(is_current(one, chroma))
        assert read_chroma(chroma.url) == {}
        assert before.mirror_lag().pending == 0
    with open_one(tmp_path, url, chroma.url) as one:
        write(one, 9, kind="late")
    assert read_chroma(chroma.url)[NAME].metadata["id 9"]["kind"] == "late"  # sent at the close


@pytest.mark.usefixtures("soon")
def test_records_from_before_the_mirror_are_sent(
    tmp_path: Path, url: str, chroma: ChromaServer
) -> None:
    with open_one(tmp_path, url, None) as one:
        write(one, *range(4))
    with open_one(tmp_path, url, chroma.url) as one:
        eventually(is_current(one, chroma))
        assert one.check(NAME).warnings == ()


@pytest.mark.usefixtures("soon")
def test_an_engine_waits_for_the_one_that_sends_and_takes_over_when_it_has_stopped(
    tmp_path: Path,
    url: str,
    chroma: ChromaServer,
    server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follower, "CHECK_WAIT_S", 0.2)
    with open_one(tmp_path, url, None) as other, open_one(tmp_path, url, chroma.url) as one:
        write(one, 1)
        eventually(is_current(one, chroma))
        eventually(lambda: bool(other.leases.acquire([follower.KEY])))
        write(one, 2)
        [warning] = one.check(NAME).warnings
        assert "another server is just updating it" in warning
        assert not is_current(one, chroma)()
        server.execute(EXPIRE)
        eventually(is_current(one, chroma))


@pytest.mark.usefixtures("soon")
def test_an_older_version_that_a_frozen_engine_sends_late_is_replaced(
    tmp_path: Path,
    url: str,
    chroma: ChromaServer,
    server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with open_one(tmp_path, url, None) as other, open_one(tmp_path, url, chroma.url) as one:
        write(one, 1, kind="old")
        eventually(is_current(one, chroma))
        mirror = one.mirror
        assert isinstance(mirror, follower.Follower)
        apply = mirror._chroma.apply
        lost: list[bool] = []

        def overtake() -> None:
            server.execute(EXPIRE)
            lease = other.leases.acquire([follower.KEY])
            assert lease
            write(other, 1, kind="newest")
            server.execute("DELETE FROM quinion.outbox")  # it has sent it
            other.leases.release(lease)
            lost.append(True)

        def be_late(*arguments: Any) -> None:
            """Be frozen, while another engine sends a newer version and its lease ends."""
            if not lost:
                with ThreadPoolExecutor(1) as thread:
                    thread.submit(overtake).result()
            apply(*arguments)

        monkeypatch.setattr(mirror._chroma, "apply", be_late)
        write(one, 1, kind="newer")
        eventually(lambda: bool(lost) and is_current(one, chroma)())
        assert read_chroma(chroma.url)[NAME].metadata["id 1"]["kind"] == "newest"
