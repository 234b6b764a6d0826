"""Pool of connections of one kind, which are opened at their first use and replaced when lost."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, LifoQueue
from typing import Any

import psycopg
from psycopg import Connection
from psycopg.pq import TransactionStatus

from quinion.errors import StoreUnavailable

SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

Connect = Callable[[], Connection[Any]]


class Pool:
    """At most `size` connections to one server; further users wait."""

    def __init__(self, size: int, connect: Connect, address: str, timeout_s: float) -> None:
        self._size = size
        self._connect = connect
        self._address = address
        self._timeout_s = timeout_s
        self._idle: LifoQueue[Connection[Any] | None] = LifoQueue()
        for _ in range(size):
            self._idle.put(None)

    @contextmanager
    def transaction(self, statement: str) -> Iterator[Connection[Any]]:
        """Use a connection on which this statement has begun a transaction. What the block does not
        commit is rolled back.

        Raises:
            StoreUnavailable: all connections have been busy for too long.
        """
        try:
            connection = self._idle.get(timeout=self._timeout_s)
        except Empty:
            raise StoreUnavailable(
                f"All {self._size} connections to the database at {self._address} have been busy "
                f"for {self._timeout_s:.0f} s. Try again later."
            ) from None
        try:
            connection = begin(connection, statement, self._connect)
            yield connection
        finally:
            self._idle.put(end(connection))

    def close(self) -> None:
        """Close the connections that are not in use."""
        for connection in [self._idle.get() for _ in range(self._idle.qsize())]:
            if connection:
                connection.close()
            self._idle.put(None)


def begin(
    connection: Connection[Any] | None, statement: str, reconnect: Callable[[], Connection[Any]]
) -> Connection[Any]:
    """Begin a transaction, on a new connection if the given one was lost."""
    if connection and not connection.closed:
        try:
            connection.execute(statement.encode())
        except psycopg.OperationalError:
            connection.close()
        else:
            return connection
    connection = reconnect()
    try:
        connection.execute(statement.encode())
    except BaseException:
        connection.close()
        raise
    return connection


def end(connection: Connection[Any] | None) -> Connection[Any] | None:
    """Roll back what is open; return the connection if it can be used again."""
    if connection is None or connection.closed:
        return None
    if connection.info.transaction_status != TransactionStatus.IDLE:
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
    if connection.closed or connection.info.transaction_status != TransactionStatus.IDLE:
        connection.close()
        return None
    return connection
