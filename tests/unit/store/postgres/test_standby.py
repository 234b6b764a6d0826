"""Reads from a standby: each engine reads what it has written, and a standby may fail."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from quinion.errors import StoreUnavailable
from quinion.store.base import Selector
from quinion.store.leases import covered_by
from tests.postgres_server import PROGRAMS, WHY_NOT, PostgresServer, needs_postgres, postgres_server
from tests.unit.store.stores import records, vectors

if not needs_postgres.args[0]:
    from quinion.store.postgres import standby as module
    from quinion.store.postgres.standby import StandbyFailed, repeated
    from quinion.store.postgres.store import PostgresStore

pytestmark = [needs_postgres, pytest.mark.slow]

PATIENCE_S = 30.0
EVERYTHING = Selector.everything("c")
OURS = "FROM pg_stat_activity WHERE application_name LIKE 'quinion %'"


@pytest.fixture(scope="module")
def primary() -> Iterator[PostgresServer]:
    if not PROGRAMS:
        pytest.skip(WHY_NOT)
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def standby(primary: PostgresServer) -> Iterator[PostgresServer]:
    with postgres_server(primary) as server:
        yield server


@pytest.fixture
def stores(
    primary: PostgresServer, standby: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list["PostgresStore"]]:
    """Two engines that read from the standby."""
    monkeypatch.setattr(module, "BEHIND_S", 0.0)
    monkeypatch.setattr(module, "FAILED_S", 0.0)
    primary.clear()
    with ExitStack() as stack:
        yield [
            stack.enter_context(closing(PostgresStore(primary.url, standby.url))) for _ in range(2)
        ]
        standby.execute("SELECT CASE WHEN pg_is_in_recovery() THEN pg_wal_replay_resume() END")


def write(store: "PostgresStore", count: int) -> None:
    with store.transaction() as changes:
        changes.upsert("c", records(count), vectors(count), "model")


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_read_from_standby(store: "PostgresStore") -> bool:
    with store._database.read() as connection:
        return connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)


def test_an_engine_reads_its_own_writes_from_the_standby(
    stores: list["PostgresStore"], primary: PostgresServer, standby: PostgresServer
) -> None:
    one, _ = stores
    for number in range(1, 30):
        write(one, number)
        assert one.count(EVERYTHING) == number
        assert len(one.search_vectors("c", vectors(1), 99)) == number
    assert standby.execute(f"SELECT count(*) > 0 {OURS}") == [(True,)]


def test_a_standby_that_is_behind_is_read_only_by_engines_that_have_not_written(
    stores: list["PostgresStore"], standby: PostgresServer
) -> None:
    one, two = stores
    write(one, 1)
    wait_until(lambda: two.count(EVERYTHING) == 1)
    standby.execute("SELECT pg_wal_replay_pause()")
    write(one, 2)
    assert (one.count(EVERYTHING), two.count(EVERYTHING)) == (2, 1)
    lease = two.leases.acquire(["a"])
    assert lease
    with covered_by(lease):
        assert two.count(EVERYTHING) == 2
    assert two.count(EVERYTHING) == 2  # it does not forget what it has seen
    standby.execute("SELECT pg_wal_replay_resume()")
    wait_until(lambda: all(map(is_read_from_standby, stores)))
    assert [store.count(EVERYTHING) for store in stores] == [2, 2]


def test_a_refresh_lets_an_engine_read_what_others_have_written(
    stores: list["PostgresStore"], standby: PostgresServer
) -> None:
    one, two = stores
    write(one, 1)
    wait_until(lambda: two.count(EVERYTHING) == 1)
    standby.execute("SELECT pg_wal_replay_pause()")
    write(one, 2)
    assert two.count(EVERYTHING) == 1
    two.refresh()
    assert two.count(EVERYTHING) == 2


def test_without_its_standby_an_engine_reads_from_the_primary(
    stores: list["PostgresStore"], primary: PostgresServer, standby: PostgresServer
) -> None:
    one, two = stores
    write(one, 3)
    wait_until(lambda: two.count(EVERYTHING) == 3)
    standby.stop()
    try:
        assert one.count(EVERYTHING) == two.count(EVERYTHING) == 3
        write(two, 4)
        assert two.count(EVERYTHING) == 4
    finally:
        standby.start()
    wait_until(lambda: one.count(EVERYTHING) == 4)
    wait_until(lambda: is_read_from_standby(one))


def test_the_standby_answers_while_the_primary_is_down(
    stores: list["PostgresStore"], primary: PostgresServer, standby: PostgresServer
) -> None:
    one, _ = stores
    write(one, 3)
    wait_until(lambda: is_read_from_standby(one))
    primary.stop()
    try:
        assert len(one.search_vectors("c", vectors(1), 5)) == 3
        with pytest.raises(StoreUnavailable, match="Check that it runs"):
            write(one, 4)
    finally:
        primary.start()
    write(one, 4)
    assert one.count(EVERYTHING) == 4


def test_a_read_that_the_standby_does_not_finish_is_repeated(
    stores: list["PostgresStore"], standby: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FAILED_S", PATIENCE_S)
    one, _ = stores
    write(one, 3)
    wait_until(lambda: is_read_from_standby(one))
    attempts: list[bool] = []

    @repeated
    def read(store: "PostgresStore") -> int:
        with store._database.read() as connection:
            [(is_standby,)] = connection.execute("SELECT pg_is_in_recovery()").fetchall()
            attempts.append(is_standby)
            if is_standby:
                standby.execute(f"SELECT pg_terminate_backend(pid, 30_000) {OURS}")
            [(found,)] = connection.execute("SELECT count(*) FROM records_1").fetchall()
            return int(found)

    with pytest.raises(StandbyFailed):
        read.__wrapped__(one)  # type: ignore[attr-defined]
    one._database._standby._left_out_until = 0.0  # type: ignore[union-attr]
    assert read(one) == 3
    assert attempts == [True, True, False]
