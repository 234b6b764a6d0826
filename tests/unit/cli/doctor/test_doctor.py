"""`quinion doctor` with real relays, a real engine and real client files."""

import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quinion import __version__
from quinion.cli.connect.clients import find_client
from quinion.cli.doctor.clients import check_clients
from quinion.cli.doctor.servers import check_engines
from quinion.installation import check_installation
from quinion.model.record import Record
from quinion.servers.document_store.records import CHUNKS
from quinion.settings import Settings
from quinion.store.embedded.database import FILE
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.factory import STORE
from quinion.store.lock import Holder, hold
from tests.unit.cli.conftest import Ended, Run, damage

SERVERS = ["document-store", "policy-kb", "docvec", "doclibrary"]


@pytest.fixture
def user(tmp_path: Path, home: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose background engine exits with its last client."""
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("QUINION_IDLE_SECONDS", "0")
    home.mkdir(exist_ok=True)
    if not (home / "models").exists():
        (home / "models").symlink_to(models)
    return folder


def findings(ended: Ended) -> dict[str, Any]:
    return {finding["what"]: finding for finding in ended.json}


@pytest.mark.slow
def test_all_is_well_from_the_installation_to_the_clients(
    quinion: Run, user: Path, home: Path
) -> None:
    assert quinion("connect", "cursor").status == 0
    ended = quinion("doctor", "--json")
    assert ended.status == 0, ended.out
    found = findings(ended)
    assert __version__ in found["quinion"]["found"]
    for server in SERVERS:
        assert "first answer on stdio" in found[server]["found"]
    assert str(home / "engine.log") in found["home"]["found"]
    assert ", ".join(SERVERS) in found["Cursor"]["found"]
    assert "Claude Desktop" not in found


@pytest.mark.slow
def test_problems_of_the_home_are_reported(quinion: Run, filled: Path, user: Path) -> None:
    damage(CHUNKS)
    ended = quinion("doctor", "--json")
    assert ended.status == 1
    found = findings(ended)
    assert "the registry says 1" in found["document-store"]["found"]
    assert "quinion verify" in found["document-store"]["advice"]
    assert found["docvec"]["well"] is True


@pytest.mark.slow
def test_a_home_in_use_is_reported(quinion: Run, user: Path, home: Path) -> None:
    gone = "http://127.0.0.1:9"
    with hold(home, __version__) as lock:
        lock.announce(Holder(os.getpid(), __version__, "", {"docvec": gone}))
        ended = quinion("doctor", "--json")
    assert ended.status == 1
    found = findings(ended)
    for server in SERVERS:
        assert "is in use" in found[server]["found"], found[server]
    assert gone in found["docvec over HTTP"]["found"]


def test_the_progress_of_a_keyword_index_is_shown(home: Path) -> None:
    with closing(EmbeddedStore(home / STORE)) as store, store.transaction() as transaction:
        records = [Record(f"id {n}", "flood risk", {}) for n in range(3)]
        transaction.upsert("texts", records, np.ones((3, 4), np.float32), "")
    [finding] = check_engines(Settings.from_environment())
    assert "keyword index" not in finding.found
    with closing(sqlite3.connect(home / STORE / FILE)) as database, database:
        database.execute("DELETE FROM keyword_postings")
        database.execute("DELETE FROM keyword_lengths")
    [finding] = check_engines(Settings.from_environment())
    assert finding.what == "home"
    assert finding.well is True
    assert finding.found.endswith("texts: the keyword index is being built: 0 of 3 records")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"command": "/no/such/quinion"}, "program not found: /no/such/quinion"),
        ({"env": {"QUINION_HOME": "/another/home"}}, "QUINION_HOME"),
        ({"env": {"ENABLE_OCR": "perhaps"}}, "ENABLE_OCR"),
    ],
)
def test_a_client_that_starts_another_program_is_reported(
    quinion: Run, user: Path, change: dict[str, Any], said: str
) -> None:
    assert quinion("connect", "cursor", "--server", "docvec").status == 0
    file = find_client("cursor").file(None)
    config = json.loads(file.read_text())
    config["mcpServers"]["docvec"] |= change
    file.write_text(json.dumps(config))
    [finding] = check_clients(Settings.from_environment())
    assert finding.well is False
    assert said in finding.found
    assert finding.advice == "quinion connect cursor"


@pytest.mark.usefixtures("user")
def test_another_version_in_a_clients_file_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "old" / "quinion"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho quinion 0.0.1\n")
    program.chmod(0o755)
    config = {"mcpServers": {"docs": {"command": str(program), "args": ["stdio", "docvec"]}}}
    file = find_client("cursor").file(None)
    file.parent.mkdir()
    file.write_text(json.dumps(config))
    [finding] = check_clients(Settings.from_environment())
    assert finding.well is False
    assert "0.0.1" in finding.found


@pytest.mark.usefixtures("user")
def test_an_unreadable_client_file_is_reported() -> None:
    file = find_client("cursor").file(None)
    file.parent.mkdir()
    file.write_text("{ // mine\n}")
    [finding] = check_clients(Settings.from_environment())
    assert finding.well is False
    assert str(file) in finding.found


@pytest.mark.usefixtures("user")
def test_a_client_that_is_there_and_not_connected_is_no_problem() -> None:
    find_client("cursor").file(None).parent.mkdir()
    [finding] = check_clients(Settings.from_environment())
    assert finding.well is True
    assert finding.advice == "quinion connect cursor"


def test_a_missing_language_of_ocr_is_named_with_its_command(
    quinion: Run, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCR_LANGUAGES", "eng+tlh")
    monkeypatch.setattr(sys, "platform", "linux")
    finding = next(
        one for one in check_installation(Settings.from_environment()) if one.what == "OCR"
    )
    assert not finding.well
    assert "no language data for tlh" in finding.found
    assert finding.advice == "Run: apt-get install tesseract-ocr-tlh"
    ended = quinion("search", "anything")
    assert ended.status == 3
    assert "OCR_LANGUAGES" in ended.err
