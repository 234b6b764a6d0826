"""The schema of `store.db`, its version, and the migration of older ones."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from quinion.errors import StoreUnavailable
from quinion.store.embedded.schema import MIGRATIONS, VERSION, migrate, read_version
from quinion.store.embedded.store import EmbeddedStore
from tests import home_v1


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Database of the home created by quinion 0.1."""
    return home_v1.unpack(tmp_path_factory.mktemp("home") / "home") / home_v1.LEDGER / "ledger.db"


@pytest.fixture
def old(ledger: Path) -> Iterator[sqlite3.Connection]:
    """A copy of it, in memory."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        with closing(sqlite3.connect(ledger)) as source:
            source.backup(copy)
        yield copy


def describe(database: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Return the columns and keys of all tables and indexes as parsed by SQLite."""
    found = {}
    for (name,) in database.execute("SELECT name FROM sqlite_master").fetchall():
        columns = database.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)).fetchall()
        keys = database.execute("SELECT * FROM pragma_index_xinfo(?)", (name,)).fetchall()
        found[name] = columns + keys
    return found


def dump(database: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    return sorted(database.execute(f"SELECT * FROM {table}").fetchall())


def test_a_new_database_has_the_current_version() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
        assert read_version(new) == 0
        migrate(new, "somewhere")
        assert read_version(new) == VERSION
        before = describe(new)
        migrate(new, "somewhere")
        assert describe(new) == before


def test_a_database_without_a_version_that_has_tables_is_of_version_1(
    old: sqlite3.Connection,
) -> None:
    assert old.execute("PRAGMA user_version").fetchone() == (0,)
    assert read_version(old) == 1


def test_a_migrated_database_has_the_tables_of_a_new_one(old: sqlite3.Connection) -> None:
    migrate(old, "somewhere")
    assert read_version(old) == VERSION
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
        migrate(new, "somewhere")
        assert describe(old) == describe(new)


def test_a_migration_keeps_every_row(old: sqlite3.Connection) -> None:
    before = {table: dump(old, table) for table in ("collections", "records", "facts", "holders")}
    migrate(old, "somewhere")
    assert [row[:5] for row in dump(old, "collections")] == before["collections"]
    for table, was in (
        ("records", "records"),
        ("metadata_values", "facts"),
        ("metadata_postings", "holders"),
    ):
        assert dump(old, table) == before[was]
        assert before[was]
    assert old.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_unreplicated_changes_become_the_outbox(old: sqlite3.Connection) -> None:
    [(number,)] = old.execute("SELECT number FROM collections WHERE name = 'policy_docs'")
    owed = [(5, number, "x", 0), (7, number, "y", 2), (9, 1, "z", 1)]
    old.executemany("INSERT INTO owed (number, collection, id, change) VALUES (?, ?, ?, ?)", owed)
    old.execute("INSERT INTO owed (collection, id, change) VALUES (99, 'of no collection', 1)")
    migrate(old, "somewhere")
    assert dump(old, "outbox") == [
        (5, "policy_docs", "x"),
        (7, "policy_docs", "y"),
        (9, "application_docs", "z"),
    ]


def test_the_outbox_of_version_2_is_kept_without_the_kinds_of_change(
    old: sqlite3.Connection,
) -> None:
    old.executescript(f"{MIGRATIONS[1]}PRAGMA user_version=2")
    rows = [(4, "texts", "", 3), (6, "texts", "id 1", 2)]
    old.executemany("INSERT INTO outbox VALUES (?, ?, ?, ?)", rows)
    migrate(old, "somewhere")
    assert read_version(old) == VERSION
    assert dump(old, "outbox") == [(4, "texts", ""), (6, "texts", "id 1")]


def test_a_number_that_a_collection_had_is_not_given_to_another(old: sqlite3.Connection) -> None:
    """Its file may still be there."""
    [(last,)] = old.execute("SELECT max(number) FROM collections")
    migrate(old, "somewhere")
    old.execute("DELETE FROM collections WHERE number = ?", (last,))
    old.execute("INSERT INTO collections (name, dimensions) VALUES ('new', 8)")
    assert old.execute("SELECT number FROM collections WHERE name = 'new'").fetchone() > (last,)


def test_a_migration_that_fails_changes_nothing(old: sqlite3.Connection) -> None:
    old.execute("DROP TABLE owed")
    before = describe(old), dump(old, "collections")
    with pytest.raises(sqlite3.OperationalError, match="owed"):
        migrate(old, "somewhere")
    assert (describe(old), dump(old, "collections")) == before
    assert read_version(old) == 1


def test_a_store_of_a_newer_quinion_is_refused_and_not_changed(tmp_path: Path) -> None:
    with closing(EmbeddedStore(tmp_path / "store")):
        pass
    path = tmp_path / "store" / "store.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version=99")
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="newer quinion") as refused:
        EmbeddedStore(tmp_path / "store")
    for part in (str(tmp_path), "schema 99", f"up to {VERSION}", "QUINION_HOME"):
        assert part in refused.value.message
    assert path.read_bytes() == before
