"""Fixtures that run the `quinion` command line in this process."""

import io
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from quinion.cli.main import main
from quinion.cli.server_client import call, connect
from quinion.embed.local.weights import prepare
from quinion.engine import open_engine
from quinion.settings import Settings
from quinion.store.base import Selector
from tests.documents import PROSE, text_pdf


@dataclass(frozen=True)
class Ended:
    """Result of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return its output, which is one JSON document."""
        return json.loads(self.out)


Run = Callable[..., Ended]


def heed_ctrl_c() -> None:
    """Restore Ctrl-C in a new process; tests in the background ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "models"
    prepare(folder)
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, set in an otherwise empty environment."""
    for variable in Settings.variables():
        monkeypatch.delenv(variable, raising=False)
    path = tmp_path / "home"
    monkeypatch.setenv("QUINION_HOME", str(path))
    monkeypatch.setenv("QUINION_WORKERS", "1")
    monkeypatch.setenv("CHROMA_PERSIST_DIR", str(path / "chroma"))
    monkeypatch.setenv("COLUMNS", "120")
    return path


@pytest.fixture
def quinion(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runner of `quinion` with arguments; `typed` is the user's input."""

    def execute(*arguments: str, typed: str = "") -> Ended:
        monkeypatch.setattr(sys, "argv", ["quinion", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        capfd.readouterr()
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        out, err = capfd.readouterr()
        return Ended(status, out, err)

    return execute


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the documents of the filled home: a letter and notes."""
    folder = tmp_path_factory.mktemp("files")
    text_pdf(folder / "Letter.pdf", PROSE, PROSE)
    (folder / "notes.md").write_text("# Notes\n\nOne text.\n")
    return folder


@pytest.fixture(scope="session")
def template(files: Path, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with content for each server without a registry."""
    home = tmp_path_factory.mktemp("template") / "home"
    home.mkdir()
    (home / "models").symlink_to(models)
    letter = files / "Letter.pdf"

    async def fill() -> None:
        settings = Settings(home=home, chroma_dir=home / "chroma", workers=1)
        for server, tool, arguments in (
            ("document-store", "ingest_document", {"application_ref": "A", "file_path": letter}),
            ("docvec", "index_file", {"file_path": files / "notes.md"}),
            ("doclibrary", "add_document", {"file_path": letter}),
        ):
            async with connect(settings, server) as client:
                await call(client, tool, {name: str(value) for name, value in arguments.items()})

    anyio.run(fill)
    return home


@pytest.fixture
def filled(template: Path, home: Path) -> Path:
    """A copy of the template, set as the home in the environment."""
    return shutil.copytree(template, home, symlinks=True)


def damage(collection: str) -> None:
    """Delete all records of a collection without its server's knowledge."""

    async def delete() -> None:
        async with open_engine(Settings.from_environment()) as engine:
            ids = [record.id for record in await engine.collections.get(collection)]
            await engine.collections.delete([Selector.by_ids(collection, ids)])

    anyio.run(delete)
