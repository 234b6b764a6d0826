"""Schema of the queue: the tables of procrastinate, and one for what it does not keep.

All are in the schema `quinion_queue`, and are migrated under an advisory lock, so several servers
and workers may start at once. An older version of procrastinate works with the tables of a newer
one, as its rules for migrations promise; so servers and workers can be upgraded one by one.
"""

from pathlib import Path
from typing import Any

from procrastinate.schema import SchemaManager
from psycopg import Connection

from quinion.store.postgres.database import connect, parse_url

SCHEMA = "quinion_queue"
MIGRATING = 0x71756E51
"""Key of the advisory lock under which the schema is migrated."""

_TASKS = """
CREATE TABLE tasks (
    id text PRIMARY KEY,
    kind text NOT NULL,
    source text NOT NULL,
    arguments text NOT NULL,
    job bigint,
    done double precision NOT NULL DEFAULT 0,
    total double precision NOT NULL DEFAULT 0,
    message text NOT NULL DEFAULT '',
    failures integer NOT NULL DEFAULT 0,
    outcome text,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE applied_migrations (name text PRIMARY KEY);
"""


def migrate(url: str) -> None:
    """Create the tables, or migrate them to the installed version of procrastinate. Blocking.

    Raises:
        psycopg.Error: the database does not answer, or this user may not create a schema.
    """
    with connect(parse_url(url)) as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATING,))
        exists = connection.execute("SELECT to_regclass('quinion_queue.tasks')").fetchone()
        connection.execute("CREATE SCHEMA IF NOT EXISTS quinion_queue")
        connection.execute("SET LOCAL search_path TO quinion_queue")
        known = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
        if exists == (None,):
            connection.execute(SchemaManager.get_schema())
            connection.execute(_TASKS)
            _note(connection, known)
            return
        applied = {name for (name,) in connection.execute("SELECT name FROM applied_migrations")}
        new = [path for path in known if path.name not in applied]
        for path in new:
            connection.execute(path.read_bytes())
        _note(connection, new)


def _note(connection: Connection[Any], migrations: list[Path]) -> None:
    rows = [(path.name,) for path in migrations]
    connection.cursor().executemany("INSERT INTO applied_migrations VALUES (%s)", rows)
