"""Leases in a database: exclusive, renewed, taken over, and checked by transactions."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress

import anyio
import pytest

from quinion.errors import LeaseLost
from quinion.store.leases import Lease, covered_by
from quinion.store.locks import Locks
from tests.postgres_server import PostgresServer, needs_postgres
from tests.unit.store.stores import records, vectors

if not needs_postgres.args[0]:
    from quinion.store.postgres import leases
    from quinion.store.postgres.store import PostgresStore

pytestmark = needs_postgres

EXPIRE = "UPDATE quinion.leases SET expires = clock_timestamp() - interval '1 second'"
PATIENCE_S = 30.0


@pytest.fixture
def stores(url: str) -> Iterator[list["PostgresStore"]]:
    """Two engines' stores on one database."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(PostgresStore(url))) for _ in range(2)]


def take(store: "PostgresStore", *keys: str) -> Lease:
    lease = store.leases.acquire(keys)
    assert lease is not None
    return lease


def write(store: "PostgresStore") -> None:
    with store.transaction() as changes:
        changes.upsert("c", records(3), vectors(3), "model")


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_key_has_one_holder_until_it_is_released(stores: list["PostgresStore"]) -> None:
    one, two = stores
    lease = take(one, "a", "b")
    assert two.leases.acquire(["b"]) is None
    assert two.leases.acquire(["b", "c"]) is None
    other = take(two, "c")  # nothing of the attempts before remained
    assert other.token > lease.token
    one.leases.release(lease)
    take(two, "a", "b")


def test_a_lease_is_renewed(
    url: str, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEWAL_S", 0.01)
    with closing(PostgresStore(url)) as store:
        take(store, "a")
        [(first,)] = server.execute("SELECT expires FROM quinion.leases")
        wait_until(lambda: server.execute("SELECT expires FROM quinion.leases")[0][0] > first)


def test_a_transaction_of_work_that_was_taken_over_changes_nothing(
    stores: list["PostgresStore"], server: PostgresServer
) -> None:
    one, two = stores
    lease = take(one, "a", "b")
    with covered_by(lease):
        write(one)
        server.execute(EXPIRE)
        write(one)  # it is late, but nobody has taken it over
        server.execute(EXPIRE)
        newer = take(two, "b")
        with pytest.raises(LeaseLost, match="taken this work over"):
            with one.transaction() as changes:
                changes.set_value("key", "value")
    assert two.values() == {}
    with covered_by(newer):
        write(two)
    one.leases.release(lease)  # does not release what is not its own
    assert one.leases.acquire(["b"]) is None


def test_a_lease_is_not_taken_over_between_the_check_and_the_commit(
    stores: list["PostgresStore"], server: PostgresServer
) -> None:
    one, two = stores
    with covered_by(take(one, "a")), one.transaction() as changes:
        server.execute(EXPIRE)
        assert two.leases.acquire(["a"]) is None
        changes.set_value("key", "value")
    take(two, "a")
    assert two.values() == {"key": "value"}


def test_a_crash_of_the_server_ends_the_work_that_had_a_lease(
    stores: list["PostgresStore"], server: PostgresServer
) -> None:
    one, _ = stores
    with covered_by(take(one, "a")):
        server.kill()
        server.start()
        with pytest.raises(LeaseLost):
            write(one)
    write(one)


def test_locks_hold_among_engines_and_are_free_after_a_failure(
    stores: list["PostgresStore"],
) -> None:
    held: list[str] = []

    async def work(name: str, locks: Locks) -> None:
        for number in range(4):
            with suppress(LookupError):
                async with locks.hold(("document", "/a" * 3_000), ("file", str(number % 2))):
                    held.append(name)
                    await anyio.lowlevel.checkpoint()
                    assert held.pop() == name
                    assert not held
                    _ = [0, 1, 2][number]  # the last one fails

    async def run() -> None:
        locks = [Locks(store.leases) for store in stores]
        async with anyio.create_task_group() as group:
            for name in "abc":
                for one in locks:
                    group.start_soon(work, name, one)
        async with (
            locks[0].hold_if_free(("x",)) as first,
            locks[1].hold_if_free(("x",)) as other,
            locks[0].hold_if_free(("x",)) as again,
        ):
            assert (first, other, again) == (True, False, False)
        async with locks[1].hold_if_free(("x",)) as first:
            assert first

    anyio.run(run)
