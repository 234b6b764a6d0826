"""Behaviour of all commands: help, completion, colours, exit codes, and interruptions."""

import errno
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from quinion.cli.groups import GROUPS, load_group
from quinion.cli.main import app
from quinion.cli.report import EXIT_CODES, EXIT_MEANINGS, run_reporting
from tests.unit.cli.conftest import Run, heed_ctrl_c

QUINION = str(Path(sys.executable).with_name("quinion"))
NO_JSON = {"serve", "stdio", "worker"}


def commands() -> Iterator[tuple[str, Any]]:
    """List every executable command with its words."""
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        if name in GROUPS:
            group = load_group(name)
            yield from ((f"{name} {sub}", found) for sub, found in group.commands.items())
        else:
            yield name, command


COMMANDS = dict(commands())


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "QUINION_HOME": str(home), "COLUMNS": "120", **more}


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_teaches_by_an_example_that_names_it(words: str) -> None:
    assert f"Example: quinion {words}" in COMMANDS[words].help


@pytest.mark.parametrize("words", sorted(set(COMMANDS) - NO_JSON))
def test_every_command_but_servers_has_json(words: str) -> None:
    assert "--json" in [option for one in COMMANDS[words].params for option in one.opts]


@pytest.mark.parametrize("words", COMMANDS)
def test_every_option_and_argument_is_explained(words: str) -> None:
    for parameter in COMMANDS[words].params:
        assert parameter.help, f"{words}: {parameter.name}"


@pytest.mark.parametrize("words", COMMANDS)
def test_help_shows_types_as_other_programs_do(quinion: Run, words: str) -> None:
    ended = quinion(*words.split(), "--help")
    assert ended.status == 0
    for written in ("<bool>", "<str>", "<int>", "<path>", "list[", "{"):
        assert written not in ended.out


@pytest.mark.parametrize("words", ["ingest", "index", "library add"])
def test_a_list_of_paths_is_shown_as_such(quinion: Run, words: str) -> None:
    assert f"quinion {words} [OPTIONS] PATH... " in quinion(*words.split(), "--help").out


def test_every_exit_status_is_explained() -> None:
    assert set(EXIT_CODES.values()) <= set(EXIT_MEANINGS)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("quinion ", "connect"),
        ("quinion po", "policy"),
        ("quinion policy re", "resolve"),
        ("quinion library ", "export"),
        ("quinion library export --", "--json"),
        ("quinion connect cla", "claude-desktop"),
        ("quinion stdio ", "docvec"),
    ],
)
def test_the_shell_completes(tmp_path: Path, line: str, expected: str) -> None:
    ended = subprocess.run(
        [QUINION],
        env=environment(
            tmp_path,
            _QUINION_COMPLETE="complete_bash",
            COMP_WORDS=line,
            COMP_CWORD=str(line.count(" ")),
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert expected in ended.stdout.split()
    assert ended.stderr == ""


def test_help_does_not_import_the_commands_dependencies(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from quinion.cli.main import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'mcp', 'chromadb', 'anyio', 'numpy', 'pymupdf'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)\n"
    )
    for arguments in (["--help"], ["policy", "--help"], ["library", "export", "--help"]):
        ended = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert "Usage: " in ended.stdout


@pytest.mark.parametrize(
    ("terminal", "no_color", "coloured"),
    [(True, "", True), (True, "1", False), (False, "", False)],
)
def test_errors_are_red_only_on_a_terminal(
    tmp_path: Path, terminal: bool, no_color: str, coloured: bool
) -> None:
    reader, writer = pty.openpty() if terminal else os.pipe()
    subprocess.run(
        [QUINION, "stdio", "gopher"],
        env=environment(tmp_path, TERM="xterm-256color", NO_COLOR=no_color),
        stderr=writer,
        check=False,
    )
    os.close(writer)
    said = os.read(reader, 10_000)
    os.close(reader)
    assert b"There is no server 'gopher'" in said
    assert b"mistral-ocr" in said
    assert (b"\x1b[31m" in said) is coloured


@pytest.mark.parametrize(
    "arguments", [("--help",), ("connect", "--json"), ("connect",), ("policy", "list", "--json")]
)
def test_a_closed_pipe_is_no_accident(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [QUINION, *arguments],
        env=environment(tmp_path, HOME=str(tmp_path)),
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert ended.stderr == ""


@pytest.mark.slow
def test_ctrl_c_ends_a_command_quietly(tmp_path: Path, home: Path, models: Path) -> None:
    home.mkdir()
    (home / "models").symlink_to(models)
    folder = tmp_path / "notes"
    folder.mkdir()
    with subprocess.Popen(
        [QUINION, "index", str(folder), "--watch"],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("Watching"):
                break
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said


def test_ctrl_c_ends_a_relay_quietly(home: Path, models: Path) -> None:
    home.mkdir()
    (home / "models").symlink_to(models)
    with subprocess.Popen(
        [str(Path(sys.executable).with_name("docvec-mcp"))],
        env=environment(home, QUINION_IDLE_SECONDS="0"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == ""


def test_unknown_commands_get_a_hint(quinion: Run) -> None:
    ended = quinion("polcy")
    assert ended.status == 2
    assert "policy" in ended.err


def test_the_path_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")

    def command() -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/home/other/a.pdf")

    with pytest.raises(SystemExit) as exit_:
        run_reporting(command)
    assert exit_.value.code == 1
    assert capsys.readouterr().err.strip() == "quinion: Permission denied: /home/other/a.pdf"
