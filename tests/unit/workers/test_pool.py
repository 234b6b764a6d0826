import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from quinion.embed.local.weights import find_tokenizer
from quinion.errors import ExtractionFailed, FileMissing, UnsupportedFile
from quinion.runtime_tuning import NICENESS
from quinion.workers.kinds import DOCUMENTS
from quinion.workers.pool import Workers
from tests.hostile.bombs import many_words
from tests.hostile.images import largest_png

pytestmark = pytest.mark.anyio
WorkerPids = Callable[[], list[int]]
OPTIONS = {"ocr": False}
STEADY = """
import time

def steady():
    for _ in range(3):
        time.sleep(1)
        yield {"made": time.monotonic()}

JOBS = {"steady": steady}
"""
GREEDY = """
from tests.heap import leave_holes

def take():
    yield {"taken": leave_holes()}

JOBS = {"rest": lambda: iter([{}]), "take": take}
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    pool = Workers(1, timeout_s=60)
    yield pool
    await pool.close()


@pytest.fixture
def pdf(tmp_path: Path) -> Path:
    path = tmp_path / "document.pdf"
    path.write_bytes((Path(__file__).parents[3] / "samples/Transport_Assessment.pdf").read_bytes())
    return path


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A file that blocks its reader forever."""
    path = tmp_path / "silent.pdf"
    os.mkfifo(path)
    return path


@pytest.fixture
def worker_pids() -> WorkerPids:
    """Lists the workers that this test has started; other tests in this process have their own."""
    others = set(psutil.Process().children())

    def own() -> list[int]:
        return [
            child.pid
            for child in psutil.Process().children()
            if child not in others and "quinion.workers.worker" in child.cmdline()
        ]

    return own


async def read_all(workers: Workers, path: Path) -> list[dict[str, Any]]:
    pages: list[dict[str, Any]] = []

    async def keep(page: dict[str, Any]) -> None:
        pages.append(page)

    await workers.run("read_pages", keep, path=str(path), first=1, last=3, options=OPTIONS)
    return pages


async def test_pages_come_one_by_one_in_order(
    workers: Workers, pdf: Path, worker_pids: WorkerPids
) -> None:
    pages = await read_all(workers, pdf)
    assert [page["number"] for page in pages] == [1, 2, 3]
    assert "200 covered and secure cycle parking spaces" in pages[1]["text"]
    assert [psutil.Process(pid).nice() for pid in worker_pids()] == [NICENESS]


async def test_items_are_delivered_without_waiting_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "steady_jobs.py").write_text(STEADY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    workers = Workers(1, timeout_s=60, kind=replace(DOCUMENTS, jobs="steady_jobs"))
    delays_s: list[float] = []

    async def keep(item: dict[str, Any]) -> None:
        delays_s.append(time.monotonic() - item["made"])

    await workers.run("steady", keep)
    await workers.close()
    assert len(delays_s) == 3
    assert max(delays_s) < 1


async def test_an_error_of_the_job_is_raised_here_and_the_worker_is_kept(
    workers: Workers, pdf: Path, tmp_path: Path, worker_pids: WorkerPids
) -> None:
    await workers.first("survey", path=str(pdf), first=1, last=1, options=OPTIONS)
    before = worker_pids()
    letter = tmp_path / "a.docx"
    letter.write_text("a letter")
    with pytest.raises(UnsupportedFile, match="docx"):
        await workers.first("survey", path=str(letter), first=1, last=1, options=OPTIONS)
    letter.unlink()
    with pytest.raises(FileMissing, match="since it was found"):
        await workers.first("survey", path=str(letter), first=1, last=1, options=OPTIONS)
    (tmp_path / "link").symlink_to(pdf.parent)
    with pytest.raises(FileMissing, match="since it was found"):
        by_link = str(tmp_path / "link" / pdf.name)
        await workers.first("survey", path=by_link, first=1, last=1, options=OPTIONS)
    assert worker_pids() == before


async def test_a_worker_that_stays_silent_is_replaced(
    pdf: Path, pipe: Path, worker_pids: WorkerPids
) -> None:
    workers = Workers(1, timeout_s=2)
    with pytest.raises(ExtractionFailed, match="2 seconds"):
        await workers.first("survey", path=str(pipe), first=1, last=1, options=OPTIONS)
    assert worker_pids() == []
    assert len(await read_all(workers, pdf)) == 3
    await workers.close()


async def test_a_job_without_ocr_is_given_up_sooner(pdf: Path, pipe: Path) -> None:
    workers = Workers(1, kind=replace(DOCUMENTS, timeouts_s={"survey": 1.0}))
    with pytest.raises(ExtractionFailed, match="after 1 seconds"):
        await workers.first("survey", path=str(pipe), first=1, last=1, options=OPTIONS)
    assert len(await read_all(workers, pdf)) == 3
    await workers.close()


@pytest.mark.slow
async def test_jobs_that_need_too_much_memory_are_refused(
    workers: Workers, pdf: Path, tmp_path: Path
) -> None:
    picture, text = tmp_path / "bomb.png", tmp_path / "bomb.pdf"
    picture.write_bytes(largest_png())
    text.write_bytes(many_words())
    with pytest.raises(ExtractionFailed, match="more memory"):
        await workers.first("probe", path=str(picture), numbers=[1], options=OPTIONS)
    with pytest.raises(ExtractionFailed, match="more memory"):
        await workers.first("survey", path=str(text), first=1, last=1, options=OPTIONS)
    assert len(await read_all(workers, pdf)) == 3


async def test_a_worker_with_normal_memory_use_is_kept(
    workers: Workers, pdf: Path, tmp_path: Path, worker_pids: WorkerPids
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("There are 200 cycle parking spaces.")
    await workers.warm()
    first = worker_pids()
    tokenizer = str(find_tokenizer(None))
    for _ in range(2):
        await workers.first(
            "read_chunks", path=str(notes), extension=".txt", size=512, tokenizer=tokenizer
        )
        await workers.first("survey", path=str(pdf), first=1, last=1, options=OPTIONS)
        await workers.first("probe", path=str(pdf), numbers=[1], options={"ocr": True})
    assert worker_pids() == first


@pytest.mark.slow
async def test_a_worker_that_retains_memory_is_replaced(
    workers: Workers, pdf: Path, tmp_path: Path, worker_pids: WorkerPids
) -> None:
    bomb = tmp_path / "bomb.pdf"
    bomb.write_bytes(many_words())
    assert len(await read_all(workers, pdf)) == 3
    with pytest.raises(ExtractionFailed, match="more memory"):
        await workers.first("survey", path=str(bomb), first=1, last=1, options=OPTIONS)
    kept = sum(psutil.Process(pid).memory_info().vms for pid in worker_pids())
    assert kept <= DOCUMENTS.max_idle_bytes
    assert len(await read_all(workers, pdf)) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="others give back by themselves")
async def test_memory_of_a_document_is_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker_pids: WorkerPids
) -> None:
    (tmp_path / "greedy_jobs.py").write_text(GREEDY)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{Path(__file__).parents[3]}")
    workers = Workers(1, timeout_s=60, kind=replace(DOCUMENTS, jobs="greedy_jobs"))
    await workers.first("rest")
    [process] = map(psutil.Process, worker_pids())
    before = process.memory_info().rss
    taken = (await workers.first("take"))["taken"]
    assert process.memory_info().rss - before < 0.2 * taken
    await workers.close()


async def test_a_worker_that_dies_is_an_error_and_is_replaced(
    workers: Workers, pdf: Path, pipe: Path, worker_pids: WorkerPids
) -> None:
    await workers.first("survey", path=str(pdf), first=1, last=1, options=OPTIONS)

    async def kill_it() -> None:
        await anyio.sleep(0.3)
        os.kill(worker_pids()[0], signal.SIGSEGV)

    async with anyio.create_task_group() as group:
        group.start_soon(kill_it)
        with pytest.raises(ExtractionFailed, match="crash"):
            await workers.first("survey", path=str(pipe), first=1, last=1, options=OPTIONS)
    assert len(await read_all(workers, pdf)) == 3


async def test_cancelling_ends_the_worker_at_once(
    workers: Workers, pdf: Path, pipe: Path, worker_pids: WorkerPids
) -> None:
    await workers.first("survey", path=str(pdf), first=1, last=1, options=OPTIONS)
    with anyio.move_on_after(0.3):
        await workers.first("survey", path=str(pipe), first=1, last=1, options=OPTIONS)
    assert worker_pids() == []
    assert len(await read_all(workers, pdf)) == 3


async def test_closing_leaves_no_process(
    workers: Workers, pdf: Path, worker_pids: WorkerPids
) -> None:
    await workers.first("survey", path=str(pdf), first=1, last=1, options=OPTIONS)
    await workers.close()
    assert worker_pids() == []


async def test_a_worker_can_be_had_ready_before_there_is_work(workers: Workers, pdf: Path) -> None:
    before = set(psutil.Process().children())
    await workers.warm()
    [ready] = set(psutil.Process().children()) - before
    await workers.first("survey", path=str(pdf), first=1, last=1, options=OPTIONS)
    assert set(psutil.Process().children()) - before == {ready}


async def test_a_worker_that_is_killed_leaves_no_temporary_files(
    pdf: Path, pipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    workers = Workers(1, timeout_s=2)
    assert len(await read_all(workers, pdf)) == 3
    assert len(list(scratch.iterdir())) == 1
    with pytest.raises(ExtractionFailed, match="2 seconds"):
        await workers.first("survey", path=str(pipe), first=1, last=1, options=OPTIONS)
    assert list(scratch.iterdir()) == []
    await workers.close()
