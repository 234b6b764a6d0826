"""Log formats, request ids and rotation."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quinion.telemetry import logs
from quinion.telemetry.logs import configure, log_call, new_request


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    logs.requests.setLevel(logging.NOTSET)


def test_a_line_of_json_has_the_request_and_its_fields(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "json", log_requests=True)
    with new_request() as request_id:
        log_call('evil "client"\n', "docvec", "search", "ok", 0.0123)
        try:
            int("a bug")
        except ValueError:
            logging.getLogger("x").exception("failed")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert first["client"] == 'evil "client"\n'
    assert (first["server"], first["tool"], first["outcome"]) == ("docvec", "search", "ok")
    assert first["duration_ms"] == 12.3
    assert first["request_id"] == second["request_id"] == request_id
    assert second["level"] == "error"
    assert "ValueError: invalid literal" in second["exception"]


def test_a_line_of_text_names_the_request(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "text", log_requests=True)
    with new_request() as request_id:
        log_call("a\nb", "docvec", "search", "ok", 0.0123)
    logging.info("outside")
    first, second = capsys.readouterr().err.splitlines()
    assert first == (
        f"INFO quinion.requests: docvec search by 'a\\nb': ok in 12.3 ms [request {request_id}]"
    )
    assert second == "INFO root: outside"


def test_levels_are_heeded_and_commands_have_no_request_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure("warning", "text", log_requests=True)
    log_call("a", "docvec", "search", "ok", 0.1)
    configure("info", "text", log_requests=False)
    log_call("a", "docvec", "search", "ok", 0.1)
    assert capsys.readouterr().err == ""


def test_a_watched_folder_logs_no_line_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "text", log_requests=False)
    logging.getLogger("watchfiles.main").info("1 change detected")
    assert capsys.readouterr().err == ""


def test_a_log_file_is_rotated_and_stderr_follows_it(tmp_path: Path) -> None:
    path = tmp_path / "engine.log"
    program = (
        "import logging, os, pathlib, sys\n"
        "from quinion.telemetry import logs\n"
        "logs.MAX_LOG_BYTES = 2_000\n"
        "os.umask(0o077)\n"
        f"logs.configure('info', 'text', log_requests=True, file=pathlib.Path({str(path)!r}))\n"
        "for n in range(300): logging.info('line %d', n)\n"
        "os.write(2, b'from a library\\n')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(os.environ))
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["engine.log", *(f"engine.log.{n}" for n in (1, 2, 3))]
    assert all(file.stat().st_size < 3_000 for file in files)
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    assert path.read_text().endswith("INFO root: line 299\nfrom a library\n")
