"""Standby of the database, which answers reads.

It may be behind the primary. An engine remembers the position in the log of the last thing that it
wrote, or read from the primary, and reads from the standby only once that has it. A standby that
stays behind, or does not answer, is left out for a moment.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import psycopg
from psycopg import Connection, errors

from quinion.errors import StoreUnavailable
from quinion.store.postgres.pool import SNAPSHOT, Connect, Pool

log = logging.getLogger(__name__)

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

WAIT_S = 0.1
"""How long a read waits for the standby to catch up."""
POLL_S = 0.005
BEHIND_S, FAILED_S = 1.0, 5.0
"""How long a standby is left out that is behind, and one that does not answer."""

_POSITION = """
SELECT CASE WHEN pg_is_in_recovery() THEN 0
    ELSE pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint END
"""
# A standby that has become the primary has everything.
_REACHED = """
SELECT NOT pg_is_in_recovery() OR pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') >= %s
"""


class StandbyFailed(StoreUnavailable):
    """A read that the standby began and did not finish; now the primary would be used."""


class Standby:
    """Connections to the standby."""

    def __init__(self, size: int, connect: Connect, address: str, timeout_s: float) -> None:
        self._address = address
        self._pool = Pool(size, connect, address, timeout_s)
        self._position = 0
        self._left_out_until = 0.0

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def note(self, primary: Connection[Any]) -> None:
        """Note the position of the primary, which later reads must have reached."""
        [(position,)] = primary.execute(_POSITION).fetchall()
        self._position = max(self._position, position)

    @contextmanager
    def read(self) -> Iterator[Connection[Any] | None]:
        """Open a connection on one snapshot; `None` if the primary has to be used.

        Raises:
            StandbyFailed: it failed in the block.
        """
        is_used = False
        try:
            if time.monotonic() >= self._left_out_until:
                with self._pool.transaction("SELECT 1") as connection:
                    if self._has_caught_up(connection):
                        connection.execute(SNAPSHOT)
                        is_used = True
                        yield connection
                        return
        except errors.QueryCanceled:
            raise  # the primary would take as long
        except (psycopg.Error, StoreUnavailable) as error:
            if is_used and isinstance(error, StoreUnavailable):
                raise
            self._leave_out(FAILED_S)
            log.warning("The standby at %s is not used now: %s", self._address, error)
            if is_used:
                raise StandbyFailed(f"The standby at {self._address} failed: {error}") from error
        yield None

    def _has_caught_up(self, connection: Connection[Any]) -> bool:
        """Wait until the standby has the position; return false if that takes too long."""
        wanted, begun = self._position, time.monotonic()
        while wanted and connection.execute(_REACHED, (wanted,)).fetchone() != (True,):
            if time.monotonic() - begun > WAIT_S:
                self._leave_out(BEHIND_S)
                return False
            time.sleep(POLL_S)
        return True

    def _leave_out(self, seconds: float) -> None:
        self._left_out_until = time.monotonic() + seconds


def repeated(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Repeat a read that the standby did not finish, which then uses the primary."""

    @wraps(method)
    def read(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except StandbyFailed:
            return method(self, *args, **kwargs)

    return read
