"""Chroma in a process of its own: what is made of how that ends."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import psutil
import pytest

from quinion.errors import StoreUnavailable
from quinion.model.record import Record
from quinion.priority import NICENESS
from quinion.store.apart import ApartChroma, _answer
from quinion.store.chroma import Chroma, Place

FALLS_SILENT = "import time; time.sleep(60)"
DIES = "import os; os.abort()"
RECORDS = [Record(f"id {n}", f"text {n}", {"n": n}) for n in range(1_000)]
VECTORS = np.random.default_rng(1).normal(size=(len(RECORDS), 384)).astype(np.float32)


@pytest.fixture
def chroma(tmp_path: Path) -> Iterator[ApartChroma]:
    with closing(ApartChroma(Place(tmp_path / "chroma"))) as chroma:
        yield chroma


@pytest.mark.parametrize(("script", "said"), [(FALLS_SILENT, "silent"), (DIES, "status -6")])
def test_a_process_that_dies_or_falls_silent_is_an_error_that_says_what_to_do(
    chroma: ApartChroma, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    monkeypatch.setattr("quinion.store.apart.SILENCE_S", 0.5)
    with monkeypatch.context() as patch:
        patch.setattr("quinion.store.apart.COMMAND", (sys.executable, "-c", script))
        with pytest.raises(StoreUnavailable, match=f"{said}.* quinion rebuild"):
            chroma.count("texts")
    monkeypatch.setattr("quinion.store.apart.SILENCE_S", 60.0)
    assert chroma.count("texts") == 0  # another is started


def test_it_is_killed_and_there_again(chroma: ApartChroma) -> None:
    chroma.upsert("texts", RECORDS[:10], VECTORS[:10])
    assert chroma._process
    chroma._process.kill()
    with pytest.raises(StoreUnavailable):
        chroma.count("texts")
    assert chroma.count("texts") == 10


def test_python_goes_on_while_chroma_writes(chroma: ApartChroma) -> None:
    chroma.open()
    assert chroma._process
    assert psutil.Process(chroma._process.pid).nice() == NICENESS
    pauses: list[float] = []
    written = threading.Event()

    def look() -> None:
        while not written.is_set():
            began = time.perf_counter()
            time.sleep(0.001)
            pauses.append(time.perf_counter() - began)

    thread = threading.Thread(target=look)
    thread.start()
    began = time.perf_counter()
    chroma.upsert("texts", RECORDS, VECTORS)
    took = time.perf_counter() - began
    written.set()
    thread.join()
    assert max(pauses) < took / 2


def test_it_ends_with_its_server_and_whoever_comes_next_waits_for_that(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path\n"
        "from quinion.store.apart import ApartChroma; from quinion.store.chroma import Place\n"
        "chroma = ApartChroma(Place(Path(sys.argv[1]))); chroma.open()\n"
        "print(chroma._process.pid, flush=True); sys.stdin.read()\n"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    child = psutil.Process(int(server.stdout.readline()))
    os.kill(child.pid, signal.SIGSTOP)
    server.kill()
    server.communicate()
    with closing(ApartChroma(Place(tmp_path))) as chroma:
        asking = threading.Thread(target=chroma.count, args=("texts",))
        asking.start()
        asking.join(2.0)
        assert asking.is_alive()
        os.kill(child.pid, signal.SIGCONT)
        asking.join(30.0)
        assert not asking.is_alive()


class OpenedToRead(Chroma):
    """As one is whose folder was read-only while it was opened, and is not any more."""

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        if self.is_open:
            with self._failures():
                raise RuntimeError("(code: 8) attempt to write a readonly database")
        super().delete(collection, ids)


def test_what_was_opened_while_the_folder_was_read_only_is_opened_again(tmp_path: Path) -> None:
    with closing(OpenedToRead(Place(tmp_path / "chroma"))) as chroma:
        chroma.upsert("texts", RECORDS[:2], VECTORS[:2])
        _answer(chroma, "delete", ("texts", ["id 0"]))
        assert chroma.ids("texts") == ["id 1"]
