"""Schema in PostgreSQL, its version and migrations.

All tables are in the schema `quinion`. `schema_version` has the version; each migration runs in
one transaction under an advisory lock, so that several processes may start at once.

A collection has four tables, with its number in their names:

    records_N   texts and metadata; a slot is a small number that is reused
    vectors_N   the vectors, by slot. With many there is an HNSW index on them, in half precision.
                They are separate, so that a change of metadata does not change that index
    postings_N  for each term, blocks of the slots of the records that contain it
    lengths_N   numbers of terms, in blocks of slots; 0 means that the slot is free

The tables of a deleted collection are dropped once no transaction can read them any more.
"""

from typing import Any

from psycopg import Connection, errors
from psycopg.sql import SQL, Composed, Identifier, Literal

from quinion.errors import StoreUnavailable

SCHEMA = "quinion"
MIGRATING = 0x71756E4D
"""Key of the advisory lock under which the schema is migrated."""
MIN_POSTGRES = 14
MIN_PGVECTOR = (0, 8)
MAX_INDEXED_DIMENSIONS = 4_000
"""Largest dimension of an HNSW index on half-precision vectors."""
MAX_INDEXED_NUMBER = 65_504.0
"""Largest number in half precision."""
KEYWORD_BLOCK = 1_024
"""Slots per block of postings. A change rewrites its blocks, and smaller ones are less to write;
a search reads more of them."""

_FIRST = """
CREATE TABLE collections (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    dimensions integer NOT NULL,
    model text NOT NULL DEFAULT '',
    version bigint NOT NULL DEFAULT 0,
    records integer NOT NULL DEFAULT 0,
    analysis integer NOT NULL,
    indexed boolean NOT NULL DEFAULT false
);
CREATE TABLE dropped_collections (number integer PRIMARY KEY, dropped xid8 NOT NULL);
CREATE TABLE key_values (key text COLLATE "C" PRIMARY KEY, value text NOT NULL);
CREATE TABLE policies (
    source text COLLATE "C" PRIMARY KEY,
    title text NOT NULL,
    description text NOT NULL,
    category text NOT NULL,
    created_at text NOT NULL,
    updated_at text NOT NULL
);
CREATE TABLE revisions (
    revision_id text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL REFERENCES policies,
    version_label text NOT NULL,
    effective_from text NOT NULL,
    effective_to text,
    status text NOT NULL,
    file_path text,
    file_size_bytes bigint,
    page_count bigint,
    chunk_count bigint NOT NULL,
    notes text NOT NULL,
    created_at text NOT NULL,
    ingested_at text,
    error text,
    draft bigint,
    closed text,
    PRIMARY KEY (source, revision_id)
);
"""

# Not logged: after a crash of the server all leases are lost, and so is the work that had them.
# `token` is in a unique index, so that a transaction that has locked the key of a row delays who
# takes the lease over, but not its renewal.
_LEASES = """
CREATE SEQUENCE lease_tokens;
CREATE UNLOGGED TABLE leases (
    key text COLLATE "C" PRIMARY KEY,
    token bigint NOT NULL,
    holder text NOT NULL,
    expires timestamptz NOT NULL,
    UNIQUE (token, key)
);
"""

_OUTBOX = """
CREATE TABLE mirrors (enabled timestamptz NOT NULL DEFAULT now());
CREATE TABLE outbox (
    sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    UNIQUE (collection, id)
);
"""

MIGRATIONS = (_FIRST, _LEASES, _OUTBOX)
"""Scripts; each migrates to the next version, the first one from an empty database to version 1."""
VERSION = len(MIGRATIONS)

_COLLECTION = """
CREATE TABLE {records} (
    slot integer PRIMARY KEY,
    number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    id text COLLATE "C" NOT NULL UNIQUE,
    text text NOT NULL,
    metadata text NOT NULL,
    filterable jsonb NOT NULL
);
CREATE INDEX ON {records} USING gin (filterable jsonb_path_ops)
    WITH (gin_pending_list_limit = 256);
CREATE TABLE {vectors} (slot integer PRIMARY KEY, vector vector({dimensions}) NOT NULL);
CREATE TABLE {postings} (
    term text COLLATE "C", block integer, postings bytea NOT NULL, PRIMARY KEY (term, block)
);
CREATE TABLE {lengths} (block integer PRIMARY KEY, used integer NOT NULL, lengths bytea NOT NULL);
"""
_TABLES = ("records", "vectors", "postings", "lengths")
_HNSW = "CREATE INDEX ON {vectors} USING hnsw ((vector::halfvec({dimensions})) halfvec_ip_ops)"


def migrate(connection: Connection[Any], address: str) -> None:
    """Migrate the database to `VERSION`, and check what it needs.

    Raises:
        StoreUnavailable: PostgreSQL or pgvector is missing or too old, or a newer quinion wrote
            the schema.
    """
    if connection.info.server_version < MIN_POSTGRES * 10_000:
        raise StoreUnavailable(
            f"The database at {address} is PostgreSQL {connection.info.server_version // 10_000}, "
            f"and quinion needs {MIN_POSTGRES} or later. Upgrade the server."
        )
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATING,))
        _ensure_pgvector(connection, address)
        version = _read_version(connection)
        if version > VERSION:
            raise StoreUnavailable(
                f"The database at {address} was written by a newer quinion (schema {version}; this "
                f"one reads up to {VERSION}). Install that version, or use another database."
            )
        if version < VERSION:
            connection.execute(SQL("SET LOCAL search_path TO {}").format(Identifier(SCHEMA)))
            for script in MIGRATIONS[version:]:
                connection.execute(script)
            connection.execute("UPDATE schema_version SET version = %s", (VERSION,))


def _ensure_pgvector(connection: Connection[Any], address: str) -> None:
    """Check the version of pgvector, and create the extension if the database lacks it."""
    query = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    found = connection.execute(query).fetchone()
    if found is None:
        try:
            with connection.transaction():
                connection.execute("CREATE EXTENSION vector")
        except errors.InsufficientPrivilege as error:
            raise StoreUnavailable(
                f"The database at {address} has no pgvector, and this user may not create it. Run "
                "as an administrator of the database: CREATE EXTENSION vector"
            ) from error
        except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
            raise StoreUnavailable(
                f"The server of the database at {address} has no pgvector. Install pgvector "
                f"{'.'.join(map(str, MIN_PGVECTOR))} or later there: "
                "https://github.com/pgvector/pgvector"
            ) from error
        found = connection.execute(query).fetchone()
    assert found is not None
    if tuple(map(int, found[0].split(".")[:2])) < MIN_PGVECTOR:
        raise StoreUnavailable(
            f"The database at {address} has pgvector {found[0]}, and quinion needs "
            f"{'.'.join(map(str, MIN_PGVECTOR))} or later. Install it on the server, then run: "
            "ALTER EXTENSION vector UPDATE"
        )


def _read_version(connection: Connection[Any]) -> int:
    """Read the version of the schema; create its table if the database is empty."""
    table = Identifier(SCHEMA, "schema_version")
    found = connection.execute("SELECT to_regclass('quinion.schema_version')").fetchone()
    if found == (None,):
        connection.execute(SQL("CREATE SCHEMA IF NOT EXISTS {}").format(Identifier(SCHEMA)))
        connection.execute(SQL("CREATE TABLE {} (version integer NOT NULL)").format(table))
        connection.execute(SQL("INSERT INTO {} VALUES (0)").format(table))
    row = connection.execute(SQL("SELECT version FROM {}").format(table)).fetchone()
    return int(row[0]) if row else 0


def tables(number: int) -> dict[str, Identifier]:
    """The tables of a collection by their names in statements."""
    return {name: Identifier(SCHEMA, f"{name}_{number}") for name in _TABLES}


def create_tables(connection: Connection[Any], number: int, dimensions: int) -> None:
    """Create the tables of a collection."""
    for statement in _COLLECTION.split(";\n"):
        if statement.strip():
            connection.execute(_format(statement, number, dimensions))


def create_vector_index(connection: Connection[Any], number: int, dimensions: int) -> bool:
    """Create the HNSW index on the vectors of a collection; return false if it can't have one."""
    if dimensions > MAX_INDEXED_DIMENSIONS:
        return False
    try:
        with connection.transaction():
            connection.execute(_format(_HNSW, number, dimensions))
    except errors.NumericValueOutOfRange:  # they are not unit vectors
        return False
    return True


def drop_tables(connection: Connection[Any], number: int) -> None:
    """Drop the tables of a deleted collection."""
    names = SQL(", ").join(tables(number).values())
    connection.execute(SQL("DROP TABLE IF EXISTS {}").format(names))


def _format(statement: str, number: int, dimensions: int) -> Composed:
    # The statements are constants of this module.
    return SQL(statement).format(dimensions=Literal(dimensions), **tables(number))
