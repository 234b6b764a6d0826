"""Installation of both distributions: wheel and sdist, pip and uv, with and without extras.

Tests that need a separate environment install it with uv, which uses its cache or downloads
packages. Without uv or packages, these tests are skipped.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
from collections.abc import Sequence
from email import message_from_string
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import pytest
from mcp import StdioServerParameters
from packaging.requirements import Requirement

from deploy.bundle import ROOT, SOURCES, build_wheel
from quinion import __version__
from quinion.embed.local.weights import find_model, prepare
from quinion.errors import ExtraMissing
from quinion.settings import Settings
from quinion.store.policies import open_registry
from tests.contract.session import open_session
from tests.documents import PROSE, Text, make_pdf

UV = str(Path(sys.executable).with_name("uv"))
PINS = ROOT / "requirements" / "base.txt"
each_distribution = pytest.mark.parametrize("name", SOURCES)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels and sdists of both distributions."""
    folder = tmp_path_factory.mktemp("dist")
    for source in SOURCES.values():
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
        subprocess.run(command, cwd=source, check=True, capture_output=True)
    return folder


def wheel_of(built: Path, name: str = "quinion") -> Path:
    [wheel] = built.glob(f"{name.replace('-', '_')}-*.whl")
    return wheel


def read_metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_string(archive.read(name).decode())


@each_distribution
def test_a_wheel_has_the_package_its_licence_and_nothing_else(built: Path, name: str) -> None:
    package = name.replace("-", "_")
    with ZipFile(wheel_of(built, name)) as archive:
        names = archive.namelist()
    ours = [one for one in names if not one.startswith(f"{package}-")]
    assert f"{package}/py.typed" in ours
    packages = (f"{package}/", "doclibrary/") if name == "quinion" else f"{package}/"
    assert all(one.startswith(packages) for one in ours)
    assert any(one.endswith(".dist-info/licenses/LICENSE") for one in names)
    source = SOURCES[name] / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*.*") if path.is_file()}
    assert set(ours) == {one for one in files if not one.endswith(".pyc")}


@each_distribution
def test_an_sdist_has_its_sources_and_builds_the_same_wheel(
    built: Path, tmp_path: Path, name: str
) -> None:
    [sdist] = built.glob(f"{name.replace('-', '_')}-*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [unpacked] = tmp_path.iterdir()
    found = {path.name for path in unpacked.iterdir()}
    assert found - {"docs", "CHANGELOG.md", ".gitignore"} == {
        "src",
        "LICENSE",
        "README.md",
        "PKG-INFO",
        "pyproject.toml",
    }
    again = build_wheel(unpacked, tmp_path)
    assert again.read_bytes() == wheel_of(built, name).read_bytes()


def test_unused_dependencies_are_not_pinned() -> None:
    unused = PINS.with_suffix(".excludes").read_text().split()
    pinned = set(re.findall(r"^([\w.-]+)==", PINS.read_text(), re.MULTILINE))
    assert unused
    assert {"chromadb", "pymupdf", "tokenizers"} <= pinned
    assert not pinned & {*unused}


def test_packages_of_an_extra_are_not_in_the_base(built: Path) -> None:
    metadata = read_metadata(wheel_of(built))
    assert metadata.get_all("Provides-Extra") == [
        *("all", "cluster", "fast", "formulas", "ocr", "postgres", "redis", "tracing")
    ]
    needed = [Requirement(one) for one in metadata.get_all("Requires-Dist") or []]
    in_base = {one.name for one in needed if not one.marker or one.marker.evaluate({"extra": ""})}
    assert {one.name for one in needed} - in_base == {
        *("ctranslate2", "tesserocr", "rapidocr"),
        *("obstore", "procrastinate"),
        *("psycopg", "redis", "ziamath", "opentelemetry-exporter-otlp-proto-grpc"),
    }


def test_redis_without_its_extra_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.delitem(sys.modules, "quinion.store.policies.redis", raising=False)
    with pytest.raises(ExtraMissing, match=r"pip install 'redis>="):
        open_registry(tmp_path / "registry.db", "redis://localhost")
    assert open_registry(tmp_path / "registry.db").list_policies() == []


def test_a_formula_without_its_extra_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ziamath", None)
    monkeypatch.delitem(sys.modules, "quinion.elements.formula", raising=False)
    with pytest.raises(ExtraMissing, match=r"pip install 'ziamath>="):
        from quinion.elements.formula import render_formula  # noqa: F401


class Installed:
    """The wheel in a separate environment with a separate home."""

    def __init__(self, folder: Path, requirement: str) -> None:
        self.scripts = folder / "env" / "bin"
        self.home = folder / "home"
        venv.create(folder / "env")
        python = str(self.scripts / "python")
        command = [UV, "pip", "install", "--python", python, "-c", str(PINS), requirement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"the packages that it needs cannot be had here: {done.stderr[-200:]}")

    def environment(self, **variables: str) -> dict[str, str]:
        known = {*Settings.variables(), "PYTHONPATH", "VIRTUAL_ENV"}
        inherited = {name: value for name, value in os.environ.items() if name not in known}
        ours = {"QUINION_HOME": str(self.home), "QUINION_IDLE_SECONDS": "0"}
        return {**inherited, **ours, **variables}

    def run(self, *command: str | Path, **variables: str) -> "subprocess.CompletedProcess[str]":
        program, *arguments = command
        return subprocess.run(
            [self.scripts / program, *arguments],
            env=self.environment(**variables),
            cwd=self.home.parent,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The base installation, without extras and without the model."""
    return Installed(tmp_path_factory.mktemp("base"), f"quinion @ {wheel_of(built).as_uri()}")


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pdf(tmp_path_factory.mktemp("files") / "Travel_Plan.pdf", [Text(PROSE)])


def check_commands(run: Sequence[str], installed: Installed, document: Path) -> None:
    model = {"QUINION_MODEL_DIR": str(find_model())}
    for arguments in (
        ("ingest", str(document), "--application-ref", "26/00001/FUL", "--json"),
        ("search", "where do bicycles go?", "--json"),
    ):
        done = subprocess.run(
            [*run, *arguments],
            env=installed.environment(**model),
            cwd=installed.home.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        json.loads(done.stdout)
    assert "cycle parking" in done.stdout


@pytest.mark.timeout(900)
def test_the_wheel_alone_takes_documents_in_and_finds_them(
    installed: Installed, document: Path
) -> None:
    assert installed.run("quinion", "--version").stdout == f"quinion {__version__}\n"
    check_commands([str(installed.scripts / "quinion")], installed, document)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "command", [("quinion", "stdio", "document-store"), ("document-store-mcp",)], ids=" ".join
)
def test_the_wheel_alone_answers_a_client(
    installed: Installed, document: Path, command: tuple[str, ...]
) -> None:
    start = StdioServerParameters(
        command=str(installed.scripts / command[0]),
        args=list(command[1:]),
        env=installed.environment(QUINION_MODEL_DIR=str(find_model())),
    )
    with open_session(start) as session:
        arguments = {"file_path": str(document), "application_ref": "26/00002/FUL"}
        ingested = session.call("ingest_document", **arguments)
        assert ingested["status"] in ("success", "already_ingested")


@pytest.mark.timeout(900)
def test_without_the_model_every_command_names_the_one_that_fetches_it(
    installed: Installed, document: Path, tmp_path: Path
) -> None:
    home = str(tmp_path / "empty")
    for command in (
        ("ingest", str(document), "--application-ref", "26/00001/FUL", "--json"),
        ("search", "anything", "--json"),
        ("model",),
    ):
        done = installed.run("quinion", *command, QUINION_HOME=home)
        assert done.returncode == 1
        assert "quinion model fetch" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.timeout(900)
def test_the_model_in_the_home_is_enough_for_a_server_with_a_folder_of_its_own(
    installed: Installed, tmp_path: Path
) -> None:
    """As `quinion model fetch` leaves it: none of the original files is there."""
    prepare(tmp_path / "home" / "models")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "cycling.md").write_text(PROSE)
    places = {"QUINION_HOME": str(tmp_path / "home"), "DOCVEC_DB_PATH": str(tmp_path / "index")}
    done = installed.run("quinion", "index", tmp_path / "notes", **places)
    assert done.returncode == 0, done.stderr
    found = installed.run("quinion", "search", "where do bicycles go?", "--json", **places)
    assert "cycle parking" in found.stdout


@pytest.mark.timeout(900)
def test_without_its_extra_redis_is_named_before_anything_is_done(installed: Installed) -> None:
    done = installed.run("quinion", "policy", "list", REDIS_URL="redis://localhost:1")
    assert done.returncode == 1
    assert "pip install 'redis>=" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.timeout(900)
def test_without_its_extra_no_formula_is_set_and_with_it_one_is(
    installed: Installed, built: Path, tmp_path: Path
) -> None:
    program = (
        "from quinion.elements.formula import render_formula; print(render_formula('x^2')[:4])"
    )
    refused = installed.run("python", "-c", program)
    assert "pip install 'ziamath>=" in refused.stderr
    whole = Installed(tmp_path, f"quinion[all] @ {wheel_of(built).as_uri()}")
    assert "PNG" in whole.run("python", "-c", program).stdout
    # Redis is asked for, and does not answer.
    asked = whole.run("quinion", "policy", "list", REDIS_URL="redis://localhost:1")
    assert "pip install" not in asked.stderr
    assert "localhost:1" in asked.stderr


@pytest.mark.timeout(900)
def test_uvx_runs_the_wheel(installed: Installed, built: Path, document: Path) -> None:
    uvx = [UV, "tool", "run", "--constraints", str(PINS), "--from", str(wheel_of(built)), "quinion"]
    environment = installed.environment()
    done = subprocess.run(
        [*uvx, "--version"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == f"quinion {__version__}\n", done.stderr
    check_commands(uvx, installed, document)


@pytest.mark.timeout(900)
@each_distribution
def test_an_sdist_is_installed_by_pip(built: Path, tmp_path: Path, name: str) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    [sdist] = built.glob(f"{name.replace('-', '_')}-*.tar.gz")
    python = str(tmp_path / "env" / "bin" / "python")
    command = [python, "-m", "pip", "install", "--quiet", "--no-deps", str(sdist)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"what builds it cannot be had here: {done.stderr[-200:]}")
    shown = subprocess.run(
        [python, "-m", "pip", "show", name], capture_output=True, text=True, check=True
    )
    assert f"\nVersion: {__version__}\n" in shown.stdout
