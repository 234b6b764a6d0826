import pytest
from PIL import Image
from PIL.Image import Transpose

from quinion.extract.ocr import tesseract
from quinion.extract.ocr.page_reader import read_upright
from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.tesseract import read as tesseract_read
from quinion.extract.ocr.words import OcrResult
from tests.documents import PROSE, picture_of, picture_of_lines

TIMEOUT_S = 60.0


@pytest.mark.parametrize(
    "turn", [None, Transpose.ROTATE_90, Transpose.ROTATE_180, Transpose.ROTATE_270]
)
def test_a_page_is_read_whichever_way_it_was_put_in(turn: Transpose | None) -> None:
    image = picture_of(f"{PROSE}\n{PROSE}", dpi=300)
    reading, _ = read_upright(Raster(image.transpose(turn) if turn else image, 300), TIMEOUT_S)
    assert reading.text.replace("\n\n", "\n") == f"{PROSE}\n{PROSE}"


def test_the_picture_is_returned_in_its_read_orientation() -> None:
    image = picture_of(f"{PROSE}\n{PROSE}", dpi=300)
    _, upright = read_upright(Raster(image.transpose(Transpose.ROTATE_180), 300), TIMEOUT_S)
    assert upright.image.tobytes() == image.tobytes()


def test_a_picture_without_words_stays_as_it_is() -> None:
    raster = Raster(picture_of_lines(), 150)
    reading, upright = read_upright(raster, TIMEOUT_S)
    assert reading.confident_text == ""
    assert upright is raster


def test_both_readings_together_keep_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    raster = Raster(Image.effect_noise((600, 400), 200), 300)
    allowed: list[float] = []

    def read(raster: Raster, timeout_s: float, *, upside_down: bool = False) -> OcrResult:
        allowed.append(timeout_s)
        return tesseract_read(raster, timeout_s, upside_down=upside_down)

    monkeypatch.setattr(tesseract, "read", read)
    _, upright = read_upright(raster, TIMEOUT_S)
    assert upright is raster
    first, second = allowed
    assert second < first == TIMEOUT_S


def test_a_second_reading_that_is_not_done_is_as_if_it_had_not_been_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raster = Raster(Image.effect_noise((600, 400), 200), 300)
    times = iter([TIMEOUT_S, 0.001])
    monkeypatch.setattr(
        tesseract, "read", lambda raster, _, **how: tesseract_read(raster, next(times), **how)
    )
    reading, upright = read_upright(raster, TIMEOUT_S)
    assert reading.confident_text == ""
    assert upright is raster


def test_the_first_has_to_be_done_in_time() -> None:
    with pytest.raises(TimeoutError):
        read_upright(Raster(Image.effect_noise((600, 400), 200), 300), 0.001)
