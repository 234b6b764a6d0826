"""Shared element worker, the only process with the layout model.

The test process creates documents with `quinion.extract.pdf.mupdf` and cannot load the model.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quinion.framing import Frame, encode, receive
from quinion.model.element import Element, element_of_json
from quinion.workers.kinds import ELEMENTS
from quinion.workers.pool import worker_command


class Worker:
    """Synchronous client of a worker process, with the protocol of the pool."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            worker_command(ELEMENTS),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def ask(self, job: str, **arguments: Any) -> list[Frame]:
        """Return the items of the answer; raises RuntimeError with the message of an error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(encode({"job": job, "arguments": arguments}))
        self._process.stdin.flush()
        items = []
        while (frame := receive(self._process.stdout)) and not frame.get("done"):
            if "error" in frame:
                raise RuntimeError(f"{frame['error']['type']}: {frame['error']['message']}")
            items.append(frame["item"])
        assert frame is not None, "the worker has exited"
        return items

    def close(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()


Find = Callable[..., list[Element]]


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    started = Worker()
    yield started
    started.close()


@pytest.fixture(scope="session")
def find(worker: Worker) -> Find:
    """Find the elements of a document's pages; by default of the first page."""

    def run(path: Path, first: int = 1, last: int = 1, *, ocr: bool = False) -> list[Element]:
        pages = worker.ask("find_elements", path=str(path), first=first, last=last, ocr=ocr)
        assert [page["number"] for page in pages] == list(range(first, last + 1))
        return [element_of_json(one) for page in pages for one in page["elements"]]

    return run
