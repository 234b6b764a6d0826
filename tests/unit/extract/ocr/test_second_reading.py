"""The second reading: which pages need it, and which words of both readings are kept."""

from dataclasses import replace

from PIL import Image, ImageDraw

from quinion.extract.ocr import tesseract
from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.second_reading import combine, is_doubtful
from quinion.extract.ocr.words import Engine, OcrResult, Word
from quinion.extract.scans.ink_ratio import find_ink
from tests.documents import PROSE, picture_of

PAPER = Image.new("L", (300, 300), "white")


def word(text: str, confidence: float, left: int, top: int = 0) -> Word:
    return Word(text, confidence, (1, 1, 1), (left, top, left + 10 * len(text), top + 20))


def test_clean_print_is_not_doubtful() -> None:
    raster = Raster(picture_of(PROSE, dpi=300), 300)
    assert not is_doubtful(tesseract.read(raster, 60.0), raster)


def test_a_page_without_words_or_with_many_unsure_ones_is_doubtful() -> None:
    raster = Raster(picture_of(PROSE, dpi=300), 300)
    assert is_doubtful(OcrResult(()), raster)
    assert not is_doubtful(OcrResult(()), Raster(Image.new("L", (900, 900), "white"), 300))
    sure = [word("sure", 95.0, 50 * index) for index in range(18)]
    assert is_doubtful(OcrResult((*sure, word("unsure", 40.0, 0, 40))), raster)


def test_a_page_with_a_misread_table_is_doubtful_even_if_the_rest_is_clean() -> None:
    raster = Raster(picture_of(PROSE, dpi=300), 300)
    clean = tesseract.read(raster, 60.0).words * 3

    def with_rows(count: int) -> OcrResult:
        rows = [
            replace(word("47.2B", confidence, 0), line=(9, 1, number))
            for number in range(count)
            for confidence in (30.0, 45.0, 90.0)
        ]
        return OcrResult((*clean, *rows))

    assert len(clean) > 6 / 0.05  # too few unsure words for the page as a whole
    assert is_doubtful(with_rows(3), raster)
    assert not is_doubtful(with_rows(2), raster)


def test_a_page_on_which_lines_were_missed_is_doubtful() -> None:
    raster = Raster(picture_of(PROSE, dpi=300), 300)
    result = tesseract.read(raster, 60.0)
    half = OcrResult(result.words[: len(result.words) // 2])
    assert is_doubtful(half, raster)


def test_small_type_is_doubtful() -> None:
    raster = Raster(picture_of(PROSE, dpi=300), 300)
    small = [Word("small", 95.0, (1, 1, 1), (40 * one, 0, 40 * one + 30, 11)) for one in range(9)]
    ImageDraw.Draw(raster.image).rectangle((0, 0, *raster.image.size), fill=255)
    assert is_doubtful(OcrResult(tuple(small)), raster)


def test_the_second_reading_is_kept_in_reading_order() -> None:
    first = OcrResult((word("Thc", 50.0, 0), word("gatc", 45.0, 40)))
    lines = [[word("below", 99.0, 0, 30)], [word("The", 99.0, 0), word("gate", 98.0, 40)]]
    result = combine(first, lines, PAPER)
    assert result.text == "The gate\nbelow"
    assert result.engine is Engine.RAPIDOCR


def test_a_word_of_which_only_tesseract_is_sure_is_from_tesseract() -> None:
    first = OcrResult((word("does", 96.0, 0), word("nol", 30.0, 50)))
    result = combine(first, [[word("dões", 53.0, 0), word("not", 60.0, 50)]], PAPER)
    assert result.text == "does not"
    assert result.engine is Engine.BOTH


def test_spaces_that_the_second_engine_omits_are_from_tesseract() -> None:
    first = OcrResult((word("of", 95.0, 0), word("the", 95.0, 25)))
    glued = [[word("ofthe", 99.0, 0)]]
    assert combine(first, glued, PAPER).text == "of the"
    unsure = OcrResult((word("of", 95.0, 0), word("the", 40.0, 25)))
    assert combine(unsure, glued, PAPER).text == "ofthe"


def test_a_number_is_not_split_as_tesseract_does() -> None:
    first = OcrResult((word("20.", 95.0, 0), word("00", 95.0, 35)))
    assert combine(first, [[word("20.00", 99.0, 0)]], PAPER).text == "20.00"


def test_words_that_only_tesseract_found_are_kept_if_it_is_sure() -> None:
    first = OcrResult((word("found", 91.0, 0, 60), word("noise", 40.0, 0, 90)))
    result = combine(first, [[word("line", 99.0, 0)]], PAPER)
    assert result.text.split() == ["line", "found"]
    assert result.engine is Engine.BOTH


def test_boxes_are_as_high_as_the_print_in_the_cell_of_a_table() -> None:
    picture = picture_of("Pears", dpi=300)
    left, top, right, bottom = find_ink(picture).getbbox() or (0, 0, 0, 0)
    draw = ImageDraw.Draw(picture)
    for rule in (top - 12, bottom + 12):
        draw.line((0, rule, picture.width, rule), fill=0, width=3)
    loose = Word("Pears", 99.0, (1, 1, 1), (left - 3, top - 15, right + 3, bottom + 15))
    [fitted] = combine(OcrResult(()), [[loose]], picture).words
    assert fitted.box == (left - 3, top, right + 3, bottom)


def test_the_box_of_a_speck_is_not_fitted() -> None:
    picture = Image.new("L", (100, 100), "white")
    ImageDraw.Draw(picture).rectangle((40, 40, 45, 45), fill=0)
    speck = Word("-", 99.0, (1, 1, 1), (30, 10, 60, 90))
    [same] = combine(OcrResult(()), [[speck]], picture).words
    assert same.box == speck.box


def test_a_line_that_only_tesseract_found_and_is_unsure_of_is_left_out_and_named() -> None:
    unsure = [word(text, 40.0, 60 * index, 60) for index, text in enumerate(["ose", "to"] * 2)]
    specks = [replace(word("|", 20.0, 60 * one, 120), line=(2, 1, 1)) for one in range(9)]
    first = OcrResult((word("Thc", 50.0, 0), *specks, *unsure))
    result = combine(first, [[word("The", 99.0, 0)]], PAPER)
    assert result.text == "The"
    assert result.left_out == tuple(unsure)
    assert combine(OcrResult(tuple(unsure[1:])), [[word("The", 99.0, 0)]], PAPER).left_out == ()
