"""Outbox: ids of records that are changed in the database, but not yet in its mirror.

An entry is part of the transaction that changes the record. Entries are written from the moment at
which the first server with a mirror starts (`enable`), by all servers. An empty id means that the
collection was dropped; it is the first entry of its collection. `store/chroma/follower.py` reads
the outbox.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from psycopg import Connection

from quinion.store.leases import held_leases
from quinion.store.postgres.database import Database
from quinion.store.postgres.leases import check_leases
from quinion.store.postgres.values import decode_text, encode_text

STEP = 10_000
"""Entries added in one transaction."""

_IS_ENABLED = "SELECT EXISTS (SELECT FROM mirrors)"
_ENABLE = "INSERT INTO mirrors SELECT WHERE NOT EXISTS (SELECT FROM mirrors)"
# A new sequence number, because the follower may be sending the old entry.
_ADD = """
INSERT INTO outbox (collection, id) SELECT %s, id FROM unnest(%s::text[]) AS id ORDER BY id
ON CONFLICT (collection, id) DO UPDATE SET sequence = DEFAULT
"""
_REMOVE_ALL = "DELETE FROM outbox WHERE collection = %s"
_WAITING = "SELECT collection, count(*) FROM outbox GROUP BY collection ORDER BY min(sequence)"
_READ = "SELECT id, sequence FROM outbox WHERE collection = %s ORDER BY sequence LIMIT %s"
# An entry that a transaction is changing gets another number, so it remains in any case.
_REMOVE = """
DELETE FROM outbox WHERE sequence IN
    (SELECT sequence FROM outbox WHERE sequence = ANY(%s) FOR UPDATE SKIP LOCKED)
"""


def is_enabled(connection: Connection[Any]) -> bool:
    """Whether there is a mirror, or was one."""
    return connection.execute(_IS_ENABLED).fetchone() == (True,)


def add(connection: Connection[Any], collection: str, ids: Iterable[str]) -> None:
    """Add records of a collection, in the transaction that changes them."""
    unique = [encode_text(one) for one in dict.fromkeys(ids)]
    if unique:
        connection.execute(_ADD, (encode_text(collection), unique))


def add_drop(connection: Connection[Any], collection: str) -> None:
    """Add an entry for a dropped collection, and remove its earlier entries."""
    connection.execute(_REMOVE_ALL, (encode_text(collection),))
    add(connection, collection, [""])


class PostgresOutbox:
    """Access to the outbox for the mirror."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def enable(self) -> None:
        """Let all transactions write entries from now on."""
        with self._database.read(primary=True) as connection:
            if is_enabled(connection):
                return
        with self._database.freeze() as connection:  # no transaction is open that would not
            connection.execute(_ENABLE)
            connection.execute("COMMIT")

    def add(self, collection: str, ids: Sequence[str]) -> None:
        """Add records that are to be sent again, in steps that do not delay other writers."""
        for start in range(0, len(ids), STEP):
            with self._database.write() as connection:
                add(connection, collection, ids[start : start + STEP])

    def count(self) -> dict[str, int]:
        """Count the entries by collection; collections with the oldest entries come first."""
        with self._database.read(primary=True) as connection:
            rows = connection.execute(_WAITING).fetchall()
        return {decode_text(name): count for name, count in rows}

    def read(self, collection: str, limit: int = -1) -> dict[str, int]:
        """Read the oldest entries of a collection, or all: sequence numbers by id."""
        values = encode_text(collection), None if limit < 0 else limit
        with self._database.read(primary=True) as connection:
            rows = connection.execute(_READ, values).fetchall()
        return {decode_text(id_): sequence for id_, sequence in rows}

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove entries that have been sent, by their sequence numbers.

        Raises:
            LeaseLost: another engine sends them; it may have sent newer versions before.
        """
        with self._database.write() as connection:
            check_leases(connection, held_leases())
            connection.execute(_REMOVE, (list(numbers),))
