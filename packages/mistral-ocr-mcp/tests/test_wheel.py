"""FR-1.3, FR-1.4, NFR-1, NFR-2: the built wheel alone, in an empty environment, is a server."""

import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from conftest import Place
from ocr_client import open_session
from ocr_front import Front, page
from packaging.requirements import Requirement

PACKAGE = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=PACKAGE, check=True, capture_output=True)
    [built] = folder.glob("*.whl")
    return built


def test_nfr_1_3_nfr_1_4_nfr_2_the_wheel_says_what_it_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
    assert re.findall(r"^Requires-Dist: (.*)$", metadata, re.M) == [
        "mcp<3,>=2.3",
        "mistralai<4,>=3.7",
    ]
    assert "\nRequires-Python: >=3.10\n" in metadata
    assert "\nLicense-Expression: MIT\n" in metadata


def test_the_wheel_with_what_it_needs_and_nothing_else_answers_a_client(
    wheel: Path, tmp_path: Path, place: Place, front: Front
) -> None:
    """Without a network: what the dependencies need is linked from this environment."""
    _make_environment(tmp_path / "env", wheel)
    command = (str(tmp_path / "env" / "bin" / "python"), "-I", "-m", "mistral_ocr_mcp")
    _check_server(place, front, command)


@pytest.mark.slow
def test_nfr_1_1_the_wheel_is_installed_by_pip(
    wheel: Path, tmp_path: Path, place: Place, front: Front
) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    program = str(tmp_path / "env" / "bin" / "python")
    done = subprocess.run(
        [program, "-m", "pip", "install", "--quiet", str(wheel)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"the packages that it needs cannot be had here: {done.stderr[-200:]}")
    _check_server(place, front, (str(tmp_path / "env" / "bin" / "mistral-ocr-mcp"),))


def _check_server(place: Place, front: Front, command: tuple[str, ...]) -> None:
    front.lay_ready(page("# Hello"))
    variables = {**place.variables(front.url), "PYTHONPATH": None}
    with open_session(place.outside, variables, command=command) as session:
        assert len(session.tools) == 2
        assert session.call("extract_markdown", file_path=place.document()).text == "# Hello"


def _make_environment(folder: Path, wheel: Path) -> None:
    venv.create(folder)
    target = Path(
        sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    )
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    for found in _closure(["mcp", "mistralai"]):
        for top in {Path(str(file)).parts[0] for file in found.files or ()}:
            source, link = Path(str(found.locate_file(top))), target / top
            if top not in ("..", "__pycache__") and source.exists() and not link.exists():
                link.symlink_to(source)


def _closure(names: list[str]) -> Iterator[Distribution]:
    """These distributions and all that they need, in turn."""
    waiting, seen = list(map(Requirement, names)), set[str]()
    while waiting:
        wanted = waiting.pop()
        if str(wanted) in seen:
            continue
        seen.add(str(wanted))
        found = distribution(wanted.name)
        yield found
        for needed in map(Requirement, found.requires or ()):
            extras = [{"extra": extra} for extra in ("", *wanted.extras)]
            if not needed.marker or any(map(needed.marker.evaluate, extras)):
                waiting.append(needed)
