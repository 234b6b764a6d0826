"""Schema of `store.db`, its version and migrations.

`PRAGMA user_version` has the version. A database is migrated when it is opened. Each step is one
transaction, so a killed process leaves either the old version or the new one.

    1  `ledger.db` of quinion 0.1, which has user_version 0
    2  one transaction per document: outbox by name, key-value table, collection versions
    3  outbox without the kind of change; slots without a record are free
    4  keyword index, which is empty after the migration and filled in the background
"""

import sqlite3
from collections.abc import Mapping

from quinion.errors import StoreUnavailable

VERSION = 4
"""The version that this code reads and writes."""

_KEYWORDS = """
CREATE TABLE keyword_postings (
    collection INTEGER NOT NULL, term TEXT NOT NULL, block INTEGER NOT NULL, postings BLOB NOT NULL,
    PRIMARY KEY (collection, term, block)
) WITHOUT ROWID;
CREATE TABLE keyword_lengths (
    collection INTEGER NOT NULL, block INTEGER NOT NULL, lengths BLOB NOT NULL,
    PRIMARY KEY (collection, block)
) WITHOUT ROWID;
CREATE TABLE keyword_analysis (version INTEGER NOT NULL);
"""

_SCHEMA = f"""
CREATE TABLE collections (
    number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL, model TEXT NOT NULL DEFAULT '', centre BLOB,
    version INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    id TEXT NOT NULL,
    slot INTEGER NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (collection, id)
);
CREATE UNIQUE INDEX records_by_slot ON records (collection, slot);
CREATE TABLE metadata_values (
    number INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (collection, key, value)
);
CREATE TABLE metadata_postings (
    value INTEGER NOT NULL, block INTEGER NOT NULL, slots BLOB NOT NULL, PRIMARY KEY (value, block)
) WITHOUT ROWID;
CREATE TABLE outbox (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, id TEXT NOT NULL,
    UNIQUE (collection, id)
);
CREATE TABLE key_values (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
{_KEYWORDS}
"""

_FROM_1 = """
ALTER TABLE collections RENAME TO old_collections;
CREATE TABLE collections (
    number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL, model TEXT NOT NULL DEFAULT '', centre BLOB,
    version INTEGER NOT NULL DEFAULT 0
);
INSERT INTO collections (number, name, dimensions, model, centre)
    SELECT number, name, dimensions, fingerprint, centre FROM old_collections;
DROP TABLE old_collections;
DROP INDEX by_place;
ALTER TABLE records RENAME COLUMN place TO slot;
CREATE UNIQUE INDEX records_by_slot ON records (collection, slot);
ALTER TABLE free RENAME TO free_slots;
ALTER TABLE facts RENAME TO metadata_values;
ALTER TABLE holders RENAME TO metadata_postings;
ALTER TABLE metadata_postings RENAME COLUMN fact TO value;
ALTER TABLE metadata_postings RENAME COLUMN places TO slots;
CREATE TABLE outbox (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, id TEXT NOT NULL,
    change INTEGER NOT NULL, UNIQUE (collection, id)
);
INSERT INTO outbox (sequence, collection, id, change)
    SELECT owed.number, collections.name, owed.id, owed.change
    FROM owed JOIN collections ON collections.number = owed.collection;
DROP TABLE owed;
INSERT INTO sqlite_sequence (name, seq)
    SELECT 'outbox', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'outbox');
CREATE TABLE key_values (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

_FROM_2 = """
ALTER TABLE outbox DROP COLUMN change;
DROP TABLE free_slots;
"""

MIGRATIONS: Mapping[int, str] = {1: _FROM_1, 2: _FROM_2, 3: _KEYWORDS}
"""Migration scripts by the version that they start from."""


def read_version(database: sqlite3.Connection) -> int:
    """Read the schema version of a database; 0 if it has no tables."""
    [(version,)] = database.execute("PRAGMA user_version")
    if version == 0 and database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        return 1
    return int(version)


def migrate(database: sqlite3.Connection, place: object) -> None:
    """Migrate the database to `VERSION`.

    Raises:
        StoreUnavailable: a newer quinion wrote it.
    """
    version = read_version(database)
    check_version(version, VERSION, place)
    while version < VERSION:
        script = MIGRATIONS[version] if version else _SCHEMA
        version = version + 1 if version else VERSION
        try:
            database.executescript(f"BEGIN IMMEDIATE;{script}PRAGMA user_version={version};COMMIT;")
        except sqlite3.Error:
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise


def check_version(found: int, known: int, place: object) -> None:
    """Reject a database that a newer quinion wrote.

    Raises:
        StoreUnavailable: its version is unknown.
    """
    if found > known:
        raise StoreUnavailable(
            f"{place} was written by a newer quinion (schema {found}; this one reads up to "
            f"{known}). Install that version, or set QUINION_HOME to another folder."
        )
