import pytest
from PIL.Image import Transpose

from quinion.extract.ocr import read_upright
from quinion.extract.raster import Raster
from tests.documents import PROSE, picture_of, picture_of_lines

TIMEOUT_S = 60.0


@pytest.mark.parametrize(
    "turn", [None, Transpose.ROTATE_90, Transpose.ROTATE_180, Transpose.ROTATE_270]
)
def test_a_page_is_read_whichever_way_it_was_put_in(turn: Transpose | None) -> None:
    image = picture_of(f"{PROSE}\n{PROSE}", dpi=300)
    reading, _ = read_upright(Raster(image.transpose(turn) if turn else image, 300), TIMEOUT_S)
    assert reading.text.replace("\n\n", "\n") == f"{PROSE}\n{PROSE}"


def test_the_picture_comes_back_as_it_was_read() -> None:
    image = picture_of(f"{PROSE}\n{PROSE}", dpi=300)
    _, upright = read_upright(Raster(image.transpose(Transpose.ROTATE_180), 300), TIMEOUT_S)
    assert upright.image.tobytes() == image.tobytes()


def test_a_picture_without_words_stays_as_it_is() -> None:
    raster = Raster(picture_of_lines(), 150)
    reading, upright = read_upright(raster, TIMEOUT_S)
    assert reading.sure_text == ""
    assert upright is raster
