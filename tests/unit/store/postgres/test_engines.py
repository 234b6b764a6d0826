"""Several engines on one database: their writes, starts and connections."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial

import anyio
import pytest

from quinion.errors import BadSetting, StoreUnavailable
from quinion.lexical.word_query import parse_query
from quinion.store.base import Candidates, Selector, Vectors
from quinion.store.collections import Collections, Write
from tests.postgres_server import PostgresServer, needs_postgres
from tests.unit.store.stores import records, vectors

if not needs_postgres.args[0]:
    from quinion.store.postgres import database
    from quinion.store.postgres.schema import VERSION
    from quinion.store.postgres.store import PostgresStore

pytestmark = needs_postgres

ENGINES = 3
ROUNDS = 4


@pytest.fixture
def stores(url: str) -> Iterator[list["PostgresStore"]]:
    with ExitStack() as stack:
        yield [stack.enter_context(closing(PostgresStore(url))) for _ in range(ENGINES)]


def words(candidates: Candidates) -> Vectors:
    return candidates.words


def run_all(jobs: Sequence[Callable[[], object]]) -> list[object]:
    """Run jobs at the same time; return their results or errors."""
    barrier = threading.Barrier(len(jobs))

    def run(job: Callable[[], object]) -> object:
        barrier.wait()
        try:
            return job()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


def open_and_close(url: str) -> None:
    PostgresStore(url).close()


def test_engines_that_start_at_once_migrate_an_empty_database_once(
    url: str, server: PostgresServer
) -> None:
    assert run_all([lambda: open_and_close(url)] * 6) == [None] * 6
    assert server.execute("SELECT version FROM quinion.schema_version") == [(VERSION,)]


def test_writers_of_one_collection_leave_it_intact(stores: list["PostgresStore"]) -> None:
    def work(store: "PostgresStore", name: str) -> None:
        for number in range(ROUNDS):
            with store.transaction() as changes:
                changes.upsert("c", records(20, f"{name} {number}"), vectors(20), "model")
            with store.transaction() as changes:
                changes.delete(Selector.by_ids("c", [f"{name} {number} {n}" for n in range(10)]))

    with stores[0].transaction() as changes:
        changes.upsert("c", records(1), vectors(1), "model")
    names = [f"{index}{name}" for index in range(ENGINES) for name in "ab"]
    jobs = [partial(work, stores[int(name[0])], name) for name in names]
    assert run_all(jobs) == [None] * len(names)
    for store in stores:
        assert store.count(Selector.everything("c")) == 1 + len(names) * ROUNDS * 10
    assert stores[0].check("c").problems == ()


def test_a_search_sees_what_another_engine_has_written(stores: list["PostgresStore"]) -> None:
    one, two, _ = stores
    query = parse_query("walnut")
    for number in range(3):
        with one.transaction() as changes:
            changes.upsert("c", records(1, f"walnut {number}"), vectors(1, number), "model")
        for store in (two, one):
            assert len(store.search_words("c", query, vectors(1), 9, words)) == number + 1
            assert len(store.search_vectors("c", vectors(1), 9)) == number + 1


def test_engines_with_other_models_do_not_mix_their_vectors(
    stores: list["PostgresStore"],
) -> None:
    def work(store: "PostgresStore", model: str) -> None:
        def change(write: Write) -> None:
            write.upsert("c", records(2, model), vectors(2))

        anyio.run(Collections(store, lambda: model).write, change)

    for number in range(ROUNDS):
        with stores[0].transaction() as changes:
            changes.delete(Selector.everything("c"))
        results = run_all([partial(work, stores[0], "one"), partial(work, stores[1], "two")])
        assert [type(result) for result in results if result] == [BadSetting], number
        model = stores[0].model("c")
        assert {one.id.partition(" ")[0] for one in stores[0].get("c")} == {model}


def test_transactions_that_lock_in_another_order_are_repeated(
    stores: list["PostgresStore"], server: PostgresServer
) -> None:
    names = ("a", "b")
    met = threading.Barrier(2)
    attempts: list[str] = []
    with stores[0].transaction() as changes:
        for name in names:
            changes.upsert(name, records(1), vectors(1), "model")

    def work(store: "PostgresStore", first: str, second: str) -> None:
        def change(write: Write) -> None:
            write.upsert(first, records(1, f"{first} first"), vectors(1))
            attempts.append(first)
            if len(attempts) <= len(names):
                met.wait()
            write.upsert(second, records(1, f"{first} first"), vectors(1))

        anyio.run(Collections(store, lambda: "model").write, change)

    results = run_all([lambda: work(stores[0], *names), lambda: work(stores[1], *names[::-1])])
    assert results == [None, None]
    assert len(attempts) > len(names)
    assert [stores[2].count(Selector.everything(name)) for name in names] == [3, 3]


def test_a_frozen_store_delays_the_writers_of_all_engines(stores: list["PostgresStore"]) -> None:
    one, two, _ = stores
    written = threading.Event()

    def write() -> None:
        with two.transaction() as changes:
            changes.set_value("key", "value")
        written.set()

    with ThreadPoolExecutor(1) as pool:
        with one.freeze_writes():
            job = pool.submit(write)
            assert not written.wait(0.2)
            assert two.values() == {}
        job.result(30)
    assert one.values() == {"key": "value"}


def test_connections_that_are_all_busy_are_an_error(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "READERS", 1)
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.05)
    with closing(PostgresStore(url)) as store, ThreadPoolExecutor(1) as pool:
        with store._database.read():
            with pytest.raises(StoreUnavailable, match=r"All 1 connections .* have been busy"):
                pool.submit(store.collections).result()
        assert store.collections() == []


def test_a_server_without_free_connections_is_an_error(url: str, server: PostgresServer) -> None:
    server.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 1")
    server.execute("GRANT ALL ON DATABASE postgres TO few")
    try:
        PostgresStore(url).close()
        server.execute("GRANT ALL ON SCHEMA quinion TO few")
        server.execute("GRANT ALL ON ALL TABLES IN SCHEMA quinion TO few")
        with closing(PostgresStore(url.replace("quinion@", "few@"))) as store:
            with pytest.raises(StoreUnavailable, match="too many connections for role"):
                store.collections()
    finally:
        server.execute("DROP OWNED BY few; DROP ROLE few")
