"""Cancelled work stops: soon after a cancel, no process of the server is busy."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.contract.conftest import NewHome
from tests.contract.policy_kb.policies import scanned
from tests.contract.process import HttpServer, run_http

STOPPED_S = 5.0
WATCHED_S = 1.0
MOST_BUSY_S = 0.2
"""CPU time of an idle server with its workers during that time."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Arguments = Callable[[Path], dict[str, Any]]
CALLS: dict[str, tuple[str, Arguments]] = {
    "document-store": (
        "ingest_document",
        lambda scan: {"file_path": str(scan), "application_ref": "A/1"},
    ),
    "docvec": ("index_directory", lambda scan: {"dir_path": str(scan.parent)}),
}


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scanned(tmp_path_factory.mktemp("scans") / "Scanned report.pdf", 12, 10)


@pytest.fixture(params=CALLS)
def name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def server(name: str, new_home: NewHome) -> Iterator[HttpServer]:
    with run_http(new_home(), command=(f"{name}-mcp", "--http", "--port", "0")) as server:
        yield server


def cpu_s(process: psutil.Process) -> float:
    """Return the CPU time of a process and its children so far; ended ones do not count."""
    total = 0.0
    for one in (process, *process.children(recursive=True)):
        try:
            times = one.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def is_busy(process: psutil.Process) -> bool:
    before = cpu_s(process)
    time.sleep(WATCHED_S)
    return cpu_s(process) - before > MOST_BUSY_S


@pytest.mark.parametrize("transport", ["http", "http-legacy", "sse"])
@pytest.mark.parametrize("delay_s", [0.3, 3.0])
def test_no_process_is_busy_five_seconds_after_a_cancel(
    server: HttpServer, name: str, scan: Path, transport: str, delay_s: float
) -> None:
    process = psutil.Process(server.process.pid)
    tool, arguments = CALLS[name]
    with server.session(transport) as session:
        job = session.start(tool, **arguments(scan))
        time.sleep(delay_s)
        if delay_s > WATCHED_S:
            assert is_busy(process)
        job.cancel()
        time.sleep(STOPPED_S)
        assert not is_busy(process)
