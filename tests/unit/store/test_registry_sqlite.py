"""The registry in SQLite: its file, and what can be wrong with it."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from quinion.errors import RegistryUnavailable
from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft
from quinion.store.registry import open_registry
from quinion.store.registry.sqlite import SqliteShelves

POLICY = PolicyDraft("A", "Title", PolicyCategory.LOCAL_PLAN)

# Dies inside the transaction, after the first write of a change and before its commit.
DIE_IN_A_CHANGE = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from quinion.store.registry.sqlite import SqliteShelves
SqliteShelves(Path(sys.argv[1])).change("A", lambda known: os._exit(9), datetime.now(UTC))
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
    shelves = SqliteShelves(tmp_path / "registry.db")
    [mode] = shelves._database.execute("PRAGMA journal_mode").fetchone()
    [synchronous] = shelves._database.execute("PRAGMA synchronous").fetchone()
    assert (mode, synchronous) == ("wal", 2)
    shelves.close()


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
    registry.close()


def test_a_closed_registry_says_so(tmp_path: Path) -> None:
    registry = open_registry(tmp_path / "registry.db")
    registry.close()
    with pytest.raises(RegistryUnavailable, match="closed"):
        registry.ping()
