"""The second reading of a page by the other engine: when it is needed, what is kept of it. Pure.

Tesseract reads clean print as well as the second engine, in a third of the time. On hard print it
is unsure of more words, or misses lines, whose ink is then outside of all words. The second engine
is right far more often on the lines of such pages, so its lines are kept, except for

- words of which it is unsure and Tesseract is sure;
- words that only Tesseract found, if it is sure of them;
- spaces, which the second engine omits in tight print.

The thresholds are from a comparison by line (`docs/extraction.md`).

The second engine's boxes are up to twice as high as the print. They are fitted to it, because the
size of text and the cells of tables are found by boxes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from statistics import median

from PIL import Image, ImageDraw, ImageOps

from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.reading_order import order_lines
from quinion.extract.ocr.words import CONFIDENT, Box, Engine, OcrResult, Word
from quinion.extract.scans.ink_ratio import BLANK_INK, find_ink, ink_ratio

# Tesseract is unsure of so many words of hard print, and of at most 4 in a hundred of clean print.
_UNSURE_SHARE = 0.05
# A table or a box on clean print may be misread alone. This share of a line's words, and at least
# two, are unsure on so many lines: at most 2 on the clean pages measured.
_UNSURE_OF_LINE = 0.25
_UNSURE_LINES = 3
# Smaller words, in pixels, are often misread with confidence.
_SMALL_TYPE = 14
# So much of the ink that looks like text is outside of words: lines were missed.
_MISSED_SHARE = 0.25
# Ink looks like text if it fills this share of a cell as high as a line.
_TEXT_INK = (0.08, 0.6)
_MEASURED_PIXELS = 1_000_000
# The second engine is unsure of a word below this confidence, and Tesseract sure from that on.
_UNSURE = 75.0
_SURE = 80.0
# Boxes of the same word share this part of their smaller side.
_SAME = 0.5
# So many words that only Tesseract found, and of which it is unsure, are a line of text.
_LINE_WORDS = 4
# Punctuation of prose.
_MARKS = ".,;:!?()'\"-"
# A row of pixels of a word's box with more ink is a rule; letters leave more paper.
_RULE_INK = 0.9
# Print fills this share of the height of its box. Less is a speck, or a dash.
_MIN_FILL = 0.25


def is_doubtful(result: OcrResult, raster: Raster) -> bool:
    """Whether a reading by Tesseract may lack words or have many wrong ones."""
    words = result.words
    if not words:
        return ink_ratio(raster.image) >= BLANK_INK
    unsure = sum(word.confidence < CONFIDENT for word in words)
    height = median(word.box[3] - word.box[1] for word in words)
    return (
        unsure >= _UNSURE_SHARE * len(words)
        or _count_unsure_lines(words) >= _UNSURE_LINES
        or height < _SMALL_TYPE
        or _missed_share(result, raster, height) >= _MISSED_SHARE
    )


def combine(first: OcrResult, lines: Sequence[Sequence[Word]], image: Image.Image) -> OcrResult:
    """Combine a reading by Tesseract with the lines of the second engine, in reading order."""
    lines = [[part for word in line for part in _split(word, first.words)] for line in lines]
    kept = [[_choose(word, first.words) for word in line] for line in lines]
    uncovered = [word for word in first.words if not any(_covers(line, word) for line in lines)]
    missed = [word for word in uncovered if word.confidence >= _SURE]
    own = [list(line) for _, line in groupby(missed, key=lambda word: word.line)]
    are_from_first = own or any(
        word is not other
        for line, before in zip(kept, lines, strict=True)
        for word, other in zip(line, before, strict=True)
    )
    engine = Engine.BOTH if are_from_first else Engine.RAPIDOCR
    words = tuple(number_words([*kept, *own], image))
    return OcrResult(words, engine, tuple(_left_out(uncovered)))


def number_words(lines: Sequence[list[Word]], image: Image.Image) -> Iterable[Word]:
    """Yield the words of lines in reading order, numbered by paragraph and line.

    The height of their boxes is fitted to the print of the picture that was read.
    """
    for block, paragraph in enumerate(order_lines(lines), 1):
        for number, row in enumerate(paragraph, 1):
            for line in row:
                for word in line:
                    box = _fit_height(word.box, image)
                    yield replace(word, line=(block, 1, number), box=box)


def _count_unsure_lines(words: Sequence[Word]) -> int:
    count = 0
    for _, line in groupby(words, key=lambda word: word.line):
        unsure = [word.confidence < CONFIDENT for word in line]
        count += sum(unsure) >= max(2, _UNSURE_OF_LINE * len(unsure))
    return count


def _left_out(words: Sequence[Word]) -> Iterator[Word]:
    """Yield words of which Tesseract is unsure, if they form lines; others may be specks."""
    unsure = (word for word in words if word.confidence < _SURE and _has_letters(word))
    for _, group in groupby(unsure, key=lambda word: word.line):
        line = list(group)
        if len(line) >= _LINE_WORDS:
            yield from line


def _has_letters(word: Word) -> bool:
    return sum(map(str.isalnum, word.text)) > 1


def _fit_height(box: Box, image: Image.Image) -> Box:
    """Shrink a box to its rows of print, without rules above and below."""
    left, top, right, bottom = box
    area = (max(0, left), max(0, top), min(image.width, right), min(image.height, bottom))
    if area[0] >= area[2] or area[1] >= area[3]:
        return box
    ink = find_ink(ImageOps.autocontrast(image.crop(area)))
    shares = ink.resize((1, ink.height), Image.Resampling.BOX).tobytes()
    rows = [row for row, share in enumerate(shares, area[1]) if 0 < share < 255 * _RULE_INK]
    if not rows or rows[-1] + 1 - rows[0] < _MIN_FILL * (bottom - top):
        return box
    return left, rows[0], right, rows[-1] + 1


def _choose(word: Word, others: Sequence[Word]) -> Word:
    """Return the same word of the other reading if it is more certain."""
    if word.confidence >= _UNSURE:
        return word
    same = [other for other in others if other.confidence >= _SURE and _are_same(word, other)]
    return (
        replace(word, text=same[0].text, confidence=same[0].confidence) if len(same) == 1 else word
    )


def _split(word: Word, others: Sequence[Word]) -> Iterator[Word]:
    """Yield the words of a word that the second engine read without its spaces.

    Tesseract read the same letters there, as several words.
    """
    left, top, right, bottom = word.box
    inside = [
        other
        for other in others
        if other.confidence >= _SURE
        and left < (other.box[0] + other.box[2]) / 2 < right
        and top < (other.box[1] + other.box[3]) / 2 < bottom
    ]
    texts = [other.text for other in inside]
    # Tesseract puts spaces into numbers and codes.
    is_prose = all(text.strip(_MARKS).isalpha() for text in texts)
    if len(texts) < 2 or not is_prose or "".join(texts) != word.text:  # noqa: PLR2004
        yield word
        return
    for other in inside:
        yield replace(word, text=other.text, box=(other.box[0], top, other.box[2], bottom))


def _are_same(one: Word, other: Word) -> bool:
    return all(
        min(one.box[axis + 2], other.box[axis + 2]) - max(one.box[axis], other.box[axis])
        > _SAME * max(one.box[axis + 2] - one.box[axis], other.box[axis + 2] - other.box[axis])
        for axis in (0, 1)
    )


def _covers(line: Sequence[Word], word: Word) -> bool:
    """Whether the middle of a word is on the line."""
    across, down = (word.box[0] + word.box[2]) / 2, (word.box[1] + word.box[3]) / 2
    return min(one.box[0] for one in line) <= across <= max(one.box[2] for one in line) and min(
        one.box[1] for one in line
    ) <= down <= max(one.box[3] for one in line)


def _missed_share(result: OcrResult, raster: Raster, height: float) -> float:
    """The share of the text-like ink of a page that is outside of confident words."""
    image = raster.image
    scale = min(1.0, (_MEASURED_PIXELS / (image.width * image.height)) ** 0.5)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    ink = find_ink(image.resize(size, Image.Resampling.BOX))
    outside = ink.copy()
    draw = ImageDraw.Draw(outside)
    for word in result.confident_words:
        draw.rectangle([edge * scale for edge in word.box], fill=0)
    side = max(3, round(height * scale))
    return _count_cells(outside, side) / max(1, _count_cells(ink, side))


def _count_cells(ink: Image.Image, side: int) -> int:
    """Count the cells of a grid that have as much ink as text."""
    cells = ink.resize(
        (max(1, ink.width // side), max(1, ink.height // side)), Image.Resampling.BOX
    )
    low, high = (round(255 * share) for share in _TEXT_INK)
    return sum(cells.histogram()[low:high])
