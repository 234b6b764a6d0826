import os
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image

from quinion.errors import ExtractionFailed, ToolMissing
from quinion.extract.ocr import tesseract
from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.tesserocr_process import TesserocrProcess
from quinion.extract.ocr.words import OcrResult, Word
from tests.documents import PROSE, picture_of

TIMEOUT_S = 60.0
PARAGRAPHS = f'{PROSE}\n \n \nSecond paragraph, 10 % of "it" only.\n{PROSE}'


@pytest.fixture(autouse=True, params=["program", "library"])
def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run each test with both OCR engines, each newly started."""
    if request.param == "library" and find_spec("tesserocr") is None:
        pytest.skip("the package tesserocr is not installed")
    library = TesserocrProcess(
        tesseract.PROGRAM if request.param == "library" else "no-such-program"
    )
    monkeypatch.setattr(tesseract, "_library", library)
    yield
    library.close()


def test_text_and_confidence_come_from_one_reading() -> None:
    reading = tesseract.read(Raster(picture_of(PROSE), 200), TIMEOUT_S)
    assert reading.text == PROSE
    assert reading.confidence is not None
    assert reading.confidence > 90


def test_text_equals_tesseracts_output(tmp_path: Path) -> None:
    image = picture_of(PARAGRAPHS)
    image.save(tmp_path / "page.png")
    itself = subprocess.run(
        ["tesseract", tmp_path / "page.png", "stdout", "--dpi", "200"],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},
    )
    assert tesseract.read(Raster(image, 200), TIMEOUT_S).text == itself.stdout.strip()


def test_words_have_their_positions() -> None:
    image = picture_of("Alpha beta gamma delta")
    first, *_, last = tesseract.read(Raster(image, 200), TIMEOUT_S).words
    assert (first.text, last.text) == ("Alpha", "delta")
    assert 0 < first.box[0] < first.box[2] < last.box[0] < last.box[2] < image.width


def test_an_empty_page_has_no_words_and_no_confidence() -> None:
    reading = tesseract.read(Raster(Image.new("L", (400, 400), "white"), 200), TIMEOUT_S)
    assert reading.text == ""
    assert reading.confidence is None


def test_doubtful_words_are_left_out_of_the_sure_text() -> None:
    words = (
        Word("sure", 95.0, (1, 1, 1), (0, 0, 1, 1)),
        Word("~;", 12.0, (1, 1, 1), (2, 0, 3, 1)),
        Word("too", 60.0, (1, 1, 2), (0, 2, 1, 3)),
    )
    reading = OcrResult(words)
    assert reading.confident_text == "sure\ntoo"
    assert reading.confidence == pytest.approx(167 / 3)


def test_a_missing_program_is_reported_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="apt-get install tesseract-ocr"):
        tesseract.read(Raster(picture_of("text")), TIMEOUT_S)


def test_a_run_that_takes_too_long_is_ended() -> None:
    with pytest.raises(TimeoutError):
        tesseract.read(Raster(picture_of(PROSE)), 0.01)


def test_a_failure_is_reported_with_tesseracts_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
    with pytest.raises(ExtractionFailed, match=r"status 1 .*eng\.traineddata"):
        tesseract.read(Raster(picture_of("text")), TIMEOUT_S)
