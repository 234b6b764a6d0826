"""Policy registry in SQLite: its file and its failures."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from quinion.errors import RegistryUnavailable
from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft
from quinion.store.policies import open_registry
from quinion.store.policies.sqlite import VERSION, SqliteStorage

POLICY = PolicyDraft("A", "Title", PolicyCategory.LOCAL_PLAN)

# Dies inside the transaction, after the first write of a change and before its commit.
DIE_IN_A_CHANGE = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from quinion.store.policies.sqlite import SqliteStorage
SqliteStorage(Path(sys.argv[1])).change("A", lambda known: os._exit(9), datetime.now(UTC))
"""


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegistryUnavailable, match=r"missing/registry\.db"):
        open_registry(tmp_path / "missing" / "registry.db")


def test_a_file_that_is_no_database_is_an_error_and_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "registry.db"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(RegistryUnavailable, match="not a database"):
        open_registry(path)
    assert path.read_bytes() == b"not a database" * 100


def test_commits_are_on_the_disk_before_they_are_acknowledged(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "registry.db")
    [mode] = storage._database.execute("PRAGMA journal_mode").fetchone()
    [synchronous] = storage._database.execute("PRAGMA synchronous").fetchone()
    assert (mode, synchronous) == ("wal", 2)
    storage.close()


def test_a_process_that_dies_in_a_change_leaves_no_trace_and_no_lock(tmp_path: Path) -> None:
    registry = open_registry(tmp_path / "registry.db")
    before = registry.create_policy(POLICY)
    child = subprocess.run(
        [sys.executable, "-c", DIE_IN_A_CHANGE, str(tmp_path / "registry.db")], check=False
    )
    assert child.returncode == 9
    assert registry.get_policy("A") == before
    registry.create_revision("A", RevisionDraft("L", date(2024, 1, 1)))
    registry.close()


def test_a_row_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    registry = open_registry(tmp_path / "registry.db")
    registry.create_policy(POLICY)
    registry.create_revision("A", RevisionDraft("L", date(2024, 1, 1)))
    with closing(sqlite3.connect(tmp_path / "registry.db")) as other, other:
        other.execute("UPDATE revisions SET status = 'retired'")
    with pytest.raises(RegistryUnavailable, match=r"rev_A_2024_01.*status is 'retired'"):
        registry.list_revisions("A")
    assert registry.list_all_revisions() == {"A": []}
    registry.close()


def read_version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        [(version,)] = database.execute("PRAGMA user_version")
    return int(version)


def set_version(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version={version}")


def test_a_new_file_has_the_schema_version(tmp_path: Path) -> None:
    open_registry(tmp_path / "registry.db").close()
    assert read_version(tmp_path / "registry.db") == VERSION == 2


def test_a_file_of_quinion_0_1_keeps_its_rows_and_gets_the_version(tmp_path: Path) -> None:
    path = tmp_path / "registry.db"
    with closing(open_registry(path)) as registry:
        before = registry.create_policy(POLICY)
    set_version(path, 0)
    with closing(open_registry(path)) as registry:
        assert registry.get_policy("A") == before
    assert read_version(path) == 2


def test_a_file_of_version_1_gets_the_columns_of_drafts(tmp_path: Path) -> None:
    path = tmp_path / "registry.db"
    with closing(open_registry(path)) as registry:
        registry.create_policy(POLICY)
        before = registry.create_revision("A", RevisionDraft("L", date(2024, 1, 1))).revision
    with closing(sqlite3.connect(path)) as database:
        for column in ("draft", "closed"):
            database.execute(f"ALTER TABLE revisions DROP COLUMN {column}")
    set_version(path, 1)
    with closing(open_registry(path)) as registry:
        assert registry.list_revisions("A") == [before]
        draft = RevisionDraft("D", date(2025, 1, 1), as_draft=True)
        assert registry.create_revision("A", draft).revision.draft


def test_a_file_of_a_newer_quinion_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "registry.db"
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("CREATE TABLE policies (something TEXT)")
        newer.execute("PRAGMA user_version=99")
    before = path.read_bytes()
    with pytest.raises(RegistryUnavailable, match="newer quinion") as refused:
        open_registry(path)
    for part in ("registry.db", "schema 99", "up to 2"):
        assert part in refused.value.message
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["registry.db"]


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with closing(open_registry(tmp_path / "registry.db")) as registry:
            registry.create_policy(POLICY)
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("registry.db", "registry.db-wal", "registry.db-shm"), 0o600)


def test_a_closed_registry_is_an_error(tmp_path: Path) -> None:
    registry = open_registry(tmp_path / "registry.db")
    registry.close()
    with pytest.raises(RegistryUnavailable, match="closed"):
        registry.ping()
