"""The process of an OCR library that hangs or exits, for example while it starts."""

import os

import psutil
import pytest
from PIL import Image

from quinion.extract.ocr.library_process import LibraryProcess
from quinion.extract.ocr.raster import Raster

TIMEOUT_S = 0.4
# A module that runs a statement, and never reads its stdin.
RUNNER = "timeit"


def process_of(statement: str) -> LibraryProcess:
    """A library's process that runs a statement instead."""
    return LibraryProcess("reader", RUNNER, lambda: ["-n1", "-r1", statement])


def blank(side: int) -> Raster:
    return Raster(Image.new("L", (side, side), "white"))


@pytest.mark.parametrize("side", [10, 1000], ids=["fits into the pipe", "fills the pipe"])
def test_a_process_that_hangs_while_it_starts_is_killed(side: int) -> None:
    process = process_of("import time; time.sleep(600)")
    for _ in range(2):  # the next page starts another
        with pytest.raises(TimeoutError, match="reader took more than 0 s"):
            process.request(blank(side), TIMEOUT_S)
        assert find_processes() == []


def test_a_reply_that_stops_halfway_is_not_waited_for_longer() -> None:
    process = process_of("import os, time; os.write(1, bytes([0, 0, 0, 9, 33])); time.sleep(600)")
    with pytest.raises(TimeoutError, match="reader took more than 0 s"):
        process.request(blank(10), TIMEOUT_S)
    assert find_processes() == []


@pytest.mark.parametrize(
    "statement",
    [
        "raise SystemExit(1)",
        "import os; os.write(1, bytes([255] * 8))",
        "import os; os.write(1, bytes([0, 0, 0, 1, 33]))",
    ],
    ids=["exits", "announces a reply that is too large", "replies nonsense"],
)
@pytest.mark.parametrize("side", [10, 1000])
def test_a_process_that_fails_is_not_tried_again(statement: str, side: int) -> None:
    process = process_of(statement)
    assert process.request(blank(side), 60.0) is None
    assert find_processes() == []
    assert process.request(blank(side), 60.0) is None


def test_a_page_that_cannot_be_sent_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object, **__: object) -> None:
        raise MemoryError

    process = process_of("import time; time.sleep(600)")
    monkeypatch.setattr(Raster, "bands", fail)
    with pytest.raises(MemoryError):
        process.request(blank(10), 60.0)
    assert find_processes() == []


def find_processes() -> list[psutil.Process]:
    return [child for child in psutil.Process(os.getpid()).children() if RUNNER in child.cmdline()]
