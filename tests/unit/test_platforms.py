"""Other operating systems: macOS works without what only Linux has, Windows is refused."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from quinion.cli.report import check_platform
from quinion.workers import worker
from tests.documents import PROSE, text_image, text_pdf

MACOS = Path(__file__).parents[1] / "macos"
SCRIPTS = Path(sys.executable).parent
WINDOWS = """
import sys
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
from {module} import {function}
sys.platform = "win32"
sys.argv = ["program", *{arguments}]
{function}()
"""


def run_on_macos(home: Path, *command: str | Path) -> str:
    program, *arguments = map(str, command)
    done = subprocess.run(
        [sys.executable, SCRIPTS / program, *arguments],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(MACOS),
            "HOME": str(home),
            "QUINION_HOME": str(home / "data"),
            "QUINION_MIRROR": "off",
            "QUINION_WORKERS": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_the_simulation_takes_away_what_only_linux_has(tmp_path: Path) -> None:
    program = tmp_path / "probe"
    program.write_text(
        "import os, pathlib, sys\n"
        "print(sys.platform, hasattr(os, 'O_PATH'), pathlib.Path('/proc/self/statm').exists())\n"
        "try: pathlib.Path('/proc/self/statm').read_text()\n"
        "except FileNotFoundError: print('no /proc')\n"
    )
    done = subprocess.run(
        [sys.executable, program],
        env={"PYTHONPATH": str(MACOS)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[0].startswith("darwin False")
    assert "no /proc" in done.stdout


@pytest.mark.slow
def test_documents_are_read_stored_and_found_without_what_only_linux_has(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    text_pdf(files / "Letter.pdf", PROSE)
    text_image(files / "Scan.png")
    out = run_on_macos(tmp_path, "quinion", "ingest", files, "-a", "A/1", "--json")
    assert out.count('"success"') == 2
    found = json.loads(
        run_on_macos(tmp_path, "quinion", "search", "development", "--no-merge", "--json")
    )
    names = {one["metadata"]["source_file"] for one in found["document-store"]["results"]}
    assert names == {"Letter.pdf", "Scan.png"}


def test_on_linux_a_worker_without_its_limit_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(ValueError, match="limit"):
        worker._limit_address_space(1 << 30)
    monkeypatch.setattr(sys, "platform", "darwin")
    worker._limit_address_space(1 << 30)


@pytest.mark.parametrize(
    ("module", "function", "arguments", "status"),
    [
        ("quinion.cli.main", "main", ["doctor"], 3),
        ("quinion.cli.main", "main", ["--help"], 3),
        ("quinion.cli.scripts", "docvec", [], 3),
        ("mistral_ocr_mcp.cli", "main", [], 1),
    ],
)
def test_windows_is_refused_with_one_sentence(
    module: str, function: str, arguments: list[str], status: int
) -> None:
    program = WINDOWS.format(module=module, function=function, arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    [line] = done.stderr.splitlines()
    assert "Windows is not supported" in line
    assert "WSL" in line
    assert "Docker" in line


def test_other_platforms_are_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for platform in ("linux", "darwin"):
        monkeypatch.setattr(sys, "platform", platform)
        check_platform()
