"""Languages of OCR: those of the setting are used, and missing ones are named with a command."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quinion.engine import check_ocr
from quinion.errors import BadSetting
from quinion.extract.ocr import rapidocr_process, tesseract
from quinion.extract.ocr.languages import advise, find_missing, list_installed
from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.tesserocr_process import TesserocrProcess
from quinion.settings import Settings
from quinion.workers.pool import Workers
from tests.documents import PROSE, picture_of, text_image

TIMEOUT_S = 60.0


@pytest.fixture
def tongue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A language that only this test's Tesseract has: English under another name."""
    installed = list_installed(tesseract.PROGRAM)
    assert installed
    folder = tmp_path / "tessdata"
    folder.mkdir()
    for name in ("configs", "tessconfigs", "pdf.ttf"):
        if (source := Path(installed[0], name)).exists():
            (folder / name).symlink_to(source)
    shutil.copy(Path(installed[0], "eng.traineddata"), folder / "xyz.traineddata")
    monkeypatch.setenv("TESSDATA_PREFIX", str(folder))
    return "xyz"


@pytest.fixture(params=["library", "program"])
def _reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "program":
        monkeypatch.setattr(TesserocrProcess, "recognize", lambda *_, **__: None)
    yield
    tesseract.use_languages("eng")


@pytest.mark.usefixtures("_reader")
def test_pages_are_read_in_the_languages_of_the_process(tongue: str) -> None:
    tesseract.use_languages(tongue)
    assert "development" in tesseract.read(Raster(picture_of(PROSE), 200), TIMEOUT_S).text


@pytest.mark.anyio
async def test_workers_read_scans_and_probe_them_in_the_languages_of_the_setting(
    tongue: str, tmp_path: Path
) -> None:
    path = str(text_image(tmp_path / "scan.png"))
    workers = Workers(1, ocr_languages=tongue)
    try:
        page = await workers.first("read_pages", path=path, first=1, last=1, options={})
        kind = await workers.first("probe", path=path, numbers=[1], options={})
    finally:
        await workers.close()
    assert "development" in page["text"]
    assert kind["kind"] == "text"


def test_missing_languages_are_found(tongue: str) -> None:
    assert find_missing(tesseract.PROGRAM, f"{tongue}+chi_sim+deu") == ["chi_sim", "deu"]
    assert find_missing("no-such-program", "deu") == []


def test_the_command_that_installs_them_is_that_of_the_platform(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    command = "apt-get install tesseract-ocr-chi-sim tesseract-ocr-deu"
    assert advise(["chi_sim", "deu"]) == command
    monkeypatch.setattr(sys, "platform", "darwin")
    assert advise(["deu"]) == "brew install tesseract-lang"


def test_a_language_that_is_not_installed_stops_the_start(tongue: str) -> None:
    with pytest.raises(BadSetting, match=r"OCR_LANGUAGES: .* for tlh"):
        check_ocr(Settings(ocr_languages=f"{tongue}+tlh"))
    check_ocr(Settings(ocr_languages=tongue))
    check_ocr(Settings(ocr_languages="tlh", enable_ocr=False))


def test_without_the_default_language_the_start_only_warns(
    tongue: str, caplog: pytest.LogCaptureFixture
) -> None:
    check_ocr(Settings())
    assert "no language data for eng" in caplog.text


@pytest.mark.parametrize("value", ["-l", "eng+", "deu fra", "../eng", "eng;ls"])
def test_a_value_that_is_no_list_of_languages_is_refused(value: str) -> None:
    with pytest.raises(BadSetting, match="OCR_LANGUAGES"):
        Settings.from_environment({"OCR_LANGUAGES": value})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_the_second_engine_must_be_installed_and_know_the_languages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed = rapidocr_process.is_installed()
    with pytest.raises(BadSetting, match="OCR_ENGINE"):
        check_ocr(Settings(ocr_engine="rapidocr", ocr_languages="rus"))
    monkeypatch.setattr(rapidocr_process, "find_spec", lambda _: None)
    with pytest.raises(BadSetting, match="pip install 'rapidocr"):
        check_ocr(Settings(ocr_engine="rapidocr"))
    monkeypatch.undo()
    if installed:
        check_ocr(Settings(ocr_engine="rapidocr", ocr_languages="eng+deu"))
