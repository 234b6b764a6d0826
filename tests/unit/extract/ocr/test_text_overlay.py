import pytest
from PIL import Image

from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.text_overlay import overlay_text
from quinion.extract.ocr.words import OcrResult, Word

DPI = 200
RASTER = Raster(Image.new("L", (1700, 2200), "white"), DPI)
PICTURE = Image.new("RGB", (850, 1100), "white")


def word(text: str, left: int, line: int = 1, top: int = 300) -> Word:
    return Word(text, 95.0, (1, 1, line), (left, top, left + 20 * len(text), top + 30))


def lay(*words: Word) -> list[tuple[float, float, float, float, str]]:
    """The words on the page that comes of it: their boxes in points, and their texts."""
    with overlay_text(PICTURE, OcrResult(words), RASTER) as document:
        return [entry[:5] for entry in document[0].get_text("words")]


def test_the_page_has_the_size_of_the_raster_and_shows_the_picture() -> None:
    with overlay_text(PICTURE, OcrResult(()), RASTER) as document:
        page = document[0]
        assert (page.rect.width, page.rect.height) == pytest.approx((612, 792), abs=0.1)
        [image] = page.get_image_info()
        assert image["bbox"] == pytest.approx((0, 0, 612, 792), abs=0.1)
        assert page.get_text() == ""


def test_words_stand_where_they_were_read() -> None:
    found = lay(word("Hello", 200), word("world", 320), word("below", 200, line=2, top=400))
    assert [text for *_, text in found] == ["Hello", "world", "below"]
    for left, wanted in zip((entry[0] for entry in found), (200, 320, 200), strict=True):
        assert left == pytest.approx(wanted * 72 / DPI, abs=4)
    assert found[2][3] == pytest.approx(430 * 72 / DPI, abs=5)


def test_words_far_apart_on_a_line_do_not_drift() -> None:
    found = lay(word("Apples", 200), word("12", 900), word("30.50", 1400))
    assert [entry[0] * DPI / 72 for entry in found] == pytest.approx([200, 900, 1400], abs=6)


@pytest.mark.parametrize("text", ["“quoted”", "naïve", "–", "Ω≤π", "•", "中国政府", "∇×E"])
def test_characters_of_other_scripts_and_signs_are_kept(text: str) -> None:
    assert lay(word(text, 200))[0][4] == text


def test_a_raster_of_unknown_resolution_is_laid_over_too() -> None:
    raster = Raster(Image.new("L", (800, 400), "white"), None)
    with overlay_text(PICTURE, OcrResult((word("Hello", 20, top=20),)), raster) as document:
        assert document[0].get_text().strip() == "Hello"


def test_a_word_without_width_does_no_harm() -> None:
    assert lay(Word("|", 10.0, (1, 1, 1), (50, 50, 50, 50)), word("Hello", 200))
