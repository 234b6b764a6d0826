"""Twenty desktop clients that concurrently read and write one home."""

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import psutil
import pytest

from quinion.daemon.client import stop_engine
from tests.contract.conftest import NewHome
from tests.contract.document_store.asking import ingest, list_documents, read_text
from tests.contract.docvec.asking import done
from tests.contract.process import SCRIPTS, Home, read_note, run_stdio, run_to_end
from tests.contract.session import Session
from tests.documents import PROSE, text_pdf

CLIENTS = 20
LASTING_S = 120.0
LINGER = {"QUINION_IDLE_SECONDS": "60"}


@pytest.fixture
def home(new_home: NewHome) -> Iterator[Home]:
    home = new_home()
    yield home
    stop_engine(home.path)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_clients_lose_nothing(home: Home, tmp_path: Path) -> None:
    with ThreadPoolExecutor(CLIENTS) as pool:
        until = time.monotonic() + LASTING_S
        connected = Event()
        jobs = [
            pool.submit(_be_a_client, home, tmp_path, number, until, connected)
            for number in range(CLIENTS)
        ]
        assert connected.wait(60)
        pids, relays = set(), []
        while time.monotonic() < until:
            time.sleep(5)
            pids.add(read_note(home)["pid"])
            relays += [p.memory_info().rss for p in _relays(home)]
        calls = sum(job.result() for job in jobs)
    assert calls > CLIENTS * 10, "hardly anything was done"
    assert len(pids) == 1, "there was more than one engine"
    assert relays
    assert max(relays) < 60e6
    ended = run_to_end(home, LINGER, "verify", program="quinion")
    assert ended.returncode == 0, ended.stdout
    assert "Traceback" not in home.engine_log
    print(f"{calls} calls, a client has {max(relays) / 1e6:.0f} MB at most")


def _relays(home: Home) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline", "environ"])
        if str(SCRIPTS / "quinion") in (process.info["cmdline"] or [])
        and (process.info["environ"] or {}).get("QUINION_HOME") == str(home.path)
    ]


def _be_a_client(home: Home, folder: Path, number: int, until: float, connected: Event) -> int:
    """Read and write until the time is over; return the number of calls."""
    mine = folder / f"client {number}"
    mine.mkdir()
    run: Callable[..., int] = _store if number % 2 else _index
    name = "document-store" if number % 2 else "docvec"
    command = ("quinion", "stdio", name)
    with run_stdio(home, LINGER, command, alone=False) as session:
        connected.set()
        return run(session, mine, number, until)


def _store(session: Session, folder: Path, number: int, until: float) -> int:
    kept: dict[str, str] = {}
    calls = 0
    while time.monotonic() < until:
        text = f"Letter {len(kept)} of client {number}. {PROSE}"
        file = text_pdf(folder / f"{len(kept)}.pdf", text)
        answer = ingest(session, file, f"CLIENT/{number}")
        assert answer["status"] == "success", answer
        kept[answer["document_id"]] = text
        document = random.Random(calls).choice(list(kept))
        assert read_text(session, document) == kept[document]
        found = session.call(
            "search_application_docs", query=text[:200], application_ref=f"CLIENT/{number}"
        )
        assert found["status"] == "success"
        assert found["results"]
        calls += 3
    assert {one["document_id"] for one in list_documents(session, f"CLIENT/{number}")} == set(kept)
    return calls


def _index(session: Session, folder: Path, number: int, until: float) -> int:
    calls = 0
    while time.monotonic() < until:
        file = folder / f"{calls % 7}.md"
        file.write_text(f"# Note {calls} of client {number}\n\n{PROSE}\n")
        done(session.call("index_directory", dir_path=str(folder)))
        found = done(session.call("search", query=f"Note {calls} of client {number}"))
        assert found["results"]
        if calls % 5 == 4:
            done(session.call("delete_file", source_file=str(file)))
            file.unlink()
        calls += 3
    return calls
