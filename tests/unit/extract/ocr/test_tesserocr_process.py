import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from PIL import Image

from quinion.extract.ocr import tesseract
from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.tesserocr_process import TesserocrProcess
from tests.documents import PROSE, picture_of, picture_of_lines

pytest.importorskip("tesserocr", reason="the package tesserocr is not installed")

TIMEOUT_S = 60.0
PAGE = Raster(picture_of(PROSE), 200)


@pytest.fixture(autouse=True)
def _alone() -> None:
    """Without the one that other tests have used."""
    tesseract._library.close()


@pytest.fixture
def recognizer() -> Iterator[TesserocrProcess]:
    one = TesserocrProcess(tesseract.PROGRAM)
    yield one
    one.close()


def test_one_process_reads_page_after_page(recognizer: TesserocrProcess) -> None:
    tables = [recognizer.recognize(PAGE, TIMEOUT_S) for _ in range(3)]
    assert len(set(tables)) == 1
    assert "development" in str(tables[0])
    assert len(find_processes()) == 1


def test_what_was_read_before_leaves_no_trace(recognizer: TesserocrProcess) -> None:
    alone = recognizer.recognize(PAGE, TIMEOUT_S)
    recognizer.recognize(Raster(picture_of_lines(), None), TIMEOUT_S)
    recognizer.recognize(Raster(picture_of("Aivasowskis Melikoffs", dpi=100), 100), TIMEOUT_S)
    assert recognizer.recognize(PAGE, TIMEOUT_S) == alone


@pytest.mark.skipif(sys.platform != "linux", reason="others give back by themselves")
def test_what_a_hard_page_took_is_given_back(recognizer: TesserocrProcess) -> None:
    recognizer.recognize(PAGE, TIMEOUT_S)
    [process] = find_processes()
    before = process.memory_info().rss
    recognizer.recognize(Raster(Image.effect_noise((1500, 1500), 80), 300), TIMEOUT_S)
    assert process.memory_info().rss - before < 10_000_000


def test_a_run_that_takes_too_long_is_killed_and_the_next_page_is_read(
    recognizer: TesserocrProcess,
) -> None:
    with pytest.raises(TimeoutError, match="more than 0 s"):
        recognizer.recognize(PAGE, 0.01)
    assert find_processes() == []
    assert recognizer.recognize(PAGE, TIMEOUT_S)


def test_after_a_crash_the_program_has_to_read(recognizer: TesserocrProcess) -> None:
    assert recognizer.recognize(PAGE, TIMEOUT_S)
    [process] = find_processes()
    os.kill(process.pid, signal.SIGSEGV)
    assert recognizer.recognize(PAGE, TIMEOUT_S) is None
    assert recognizer.recognize(PAGE, TIMEOUT_S) is None


def test_without_the_programs_data_the_program_has_to_say_so(
    recognizer: TesserocrProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
    assert recognizer.recognize(PAGE, TIMEOUT_S) is None


def test_the_process_ends_with_whoever_asks() -> None:
    asks = (
        "import os, psutil; from PIL import Image;"
        "from quinion.extract.ocr import tesseract; from quinion.extract.ocr.raster import Raster;"
        "tesseract.read(Raster(Image.new('L', (99, 99), 'white'), 200), 60);"
        "print(psutil.Process().children()[0].pid, flush=True);"
        "os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", asks], check=False, stdout=subprocess.PIPE, text=True
    )
    assert killed.returncode == -signal.SIGKILL
    with suppress(psutil.NoSuchProcess):
        psutil.Process(int(killed.stdout)).wait(TIMEOUT_S)


def find_processes() -> list[psutil.Process]:
    children = psutil.Process().children()
    return [
        child for child in children if "quinion.extract.ocr.tesserocr_process" in child.cmdline()
    ]
