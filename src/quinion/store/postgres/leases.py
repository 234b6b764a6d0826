"""Leases as rows of a table.

They expire by the clock of the database, so clocks of hosts that differ are harmless. A thread
renews those of this process. A transaction that a lease covers locks its row: nobody can take the
lease over between that check and the commit.
"""

import os
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from psycopg import Connection, errors

from quinion.errors import LeaseLost, StoreUnavailable
from quinion.store.leases import Lease
from quinion.store.postgres.database import Database
from quinion.store.postgres.pool import Pool

LEASE_S = 15.0
"""How long a lease lasts after its last renewal."""
RENEWAL_S = 5.0
LOCK_TIMEOUT_S = 0.5
"""How long to wait for a lease whose holder is committing."""

_ACQUIRE = """
WITH new AS (SELECT nextval('lease_tokens') AS token)
INSERT INTO leases (key, token, holder, expires)
SELECT key, token, %(holder)s, clock_timestamp() + make_interval(secs => %(lease_s)s)
FROM new, unnest(%(keys)s::text[]) AS key ORDER BY key
ON CONFLICT (key) DO UPDATE SET
    token = excluded.token, holder = excluded.holder, expires = excluded.expires
    WHERE leases.expires < clock_timestamp()
RETURNING token
"""
_RELEASE = "DELETE FROM leases WHERE token = %s"
_RENEW = """
UPDATE leases SET expires = clock_timestamp() + make_interval(secs => %s)
WHERE token = ANY(%s) RETURNING token
"""
_CHECK = """
SELECT count(*) FROM (SELECT FROM leases WHERE token = ANY(%s) FOR KEY SHARE) AS held
"""


class PostgresLeases:
    """Leases in a database; implements `store.leases.Leases`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._holder = f"{socket.gethostname()} {os.getpid()}"
        self._pool = Pool(1, self._connect, database.address, LEASE_S)
        self._tokens: set[int] = set()
        self._changing = threading.Lock()
        self._closing = threading.Event()
        self._renewal: threading.Thread | None = None

    def acquire(self, keys: Sequence[str]) -> Lease | None:
        values = {"holder": self._holder, "lease_s": LEASE_S, "keys": list(keys)}
        with self._database.failures(), self._pool.transaction("BEGIN") as connection:
            try:
                rows = connection.execute(_ACQUIRE, values).fetchall()
            except (errors.LockNotAvailable, errors.DeadlockDetected):
                return None
            if len(rows) < len(keys):
                return None
            connection.execute("COMMIT")
        lease = Lease(rows[0][0], len(rows))
        with self._changing:
            self._tokens.add(lease.token)
            if self._renewal is None:
                self._renewal = threading.Thread(target=self._renew, name="leases", daemon=True)
                self._renewal.start()
        return lease

    def release(self, lease: Lease) -> None:
        with self._changing:
            self._tokens.discard(lease.token)
        with self._database.failures(), self._pool.transaction("BEGIN") as connection:
            connection.execute(_RELEASE, (lease.token,))
            connection.execute("COMMIT")

    def close(self) -> None:
        """Stop the renewal; leases that are held expire."""
        self._closing.set()
        if self._renewal:
            self._renewal.join()
        self._pool.close()

    def _renew(self) -> None:
        while not self._closing.wait(RENEWAL_S):
            with self._changing:
                tokens = list(self._tokens)
            if tokens:
                with suppress(StoreUnavailable):  # maybe the next time it works
                    self._renew_once(tokens)

    def _renew_once(self, tokens: list[int]) -> None:
        with self._database.failures(), self._pool.transaction("BEGIN") as connection:
            rows = connection.execute(_RENEW, (LEASE_S, tokens)).fetchall()
            connection.execute("COMMIT")
        with self._changing:
            self._tokens -= set(tokens) - {token for (token,) in rows}

    def _connect(self) -> Connection[Any]:
        connection = self._database.connect_writer()
        connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{LOCK_TIMEOUT_S}s",))
        connection.execute("SET synchronous_commit = off")  # the table is not logged
        return connection


def check_leases(connection: Connection[Any], leases: Sequence[Lease]) -> None:
    """Check that this process still has these leases, and keep them until the transaction ends.

    Raises:
        LeaseLost: another engine has taken one of them over, or the database has lost it.
    """
    if not leases:
        return
    tokens = [lease.token for lease in leases]
    [(found,)] = connection.execute(_CHECK, (tokens,)).fetchall()
    if found < sum(lease.keys for lease in leases):
        raise LeaseLost(
            f"Another server has taken this work over, because this one did not answer for "
            f"{LEASE_S:.0f} s or the database was restarted. Nothing was changed. Try again."
        )
