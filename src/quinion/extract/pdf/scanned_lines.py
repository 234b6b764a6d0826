"""Lines of a scanned page with box and font size, from the words of OCR. Pure.

OCR often reads the numbers of paragraphs as a column of their own. Here a row is what stands side
by side, so a number and the first words of its paragraph are one line again. The font size is
estimated from the heights of the words, which depend on their letters.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median

from quinion.extract.ocr.reading_order import order_lines
from quinion.extract.ocr.words import Word
from quinion.model.line import Line, Place, lines_of_text
from quinion.model.page import STARTS_LINE, Page, PageWords, decode_words, words_of_text

# Boxes are compared in tenths of a point.
_SCALE = 10
_ASCENDING = frozenset("bdfhijklt0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ!?()[]/&£$%")
_DESCENDING = frozenset("gjpqy,;()[]/Q$")
# Height of a word's box, relative to the font size, by whether it has ascenders and descenders.
_HEIGHTS = {(True, True): 0.93, (True, False): 0.72, (False, True): 0.7, (False, False): 0.5}
# A footnote's number is lower than the digits of the line's size by this factor.
_MARK_HEIGHT = 0.8


def read_scanned_lines(page: Page, width: float, height: float) -> tuple[Line, ...]:
    """Return the lines of a page of this size in points; without layout if it has no words."""
    words = decode_words(words_of_text(page.words))
    if words is None:
        return lines_of_text(page)
    return tuple(
        _line(page.number, [word for part in row for word in part], words)
        for paragraph in order_lines(list(_lines(words, width, height)))
        for row in paragraph
    )


def _lines(words: PageWords, width: float, height: float) -> Iterator[list[Word]]:
    """Yield the lines of OCR; the last part of a word's `line` is its index on the page."""
    line: list[Word] = []
    for index, (left, top, right, bottom) in enumerate(words.boxes):
        if line and words.flags[index] & STARTS_LINE:
            yield line
            line = []
        box = (
            round(left * width * _SCALE),
            round(top * height * _SCALE),
            round(right * width * _SCALE),
            round(bottom * height * _SCALE),
        )
        text = words.text[words.offsets[index] : words.offsets[index + 1]]
        line.append(Word(text, 0.0, (0, 0, index), box))
    if line:
        yield line


def _line(number: int, row: Sequence[Word], words: PageWords) -> Line:
    left, top, right, bottom = zip(*(word.box for word in row), strict=True)
    size = median(_size(word) for word in row)
    first = row[0]
    is_low = first.box[3] - first.box[1] < _MARK_HEIGHT * _HEIGHTS[True, False] * size
    return Line(
        number,
        " ".join(word.text for word in row),
        (min(left) / _SCALE, min(top) / _SCALE, max(right) / _SCALE, max(bottom) / _SCALE),
        round(size / _SCALE, 1),
        marked=len(row) > 1 and first.text.isdecimal() and is_low,
        places=tuple(_places(row, words)),
        is_scanned=True,
    )


def _size(word: Word) -> float:
    letters = set(word.text)
    factor = _HEIGHTS[not letters.isdisjoint(_ASCENDING), not letters.isdisjoint(_DESCENDING)]
    return (word.box[3] - word.box[1]) / factor


def _places(row: Sequence[Word], words: PageWords) -> Iterator[Place]:
    indexes = [word.line[2] for word in row]
    # Indexes that follow one another have the same distance from their position.
    for _, group in groupby(enumerate(indexes), key=lambda entry: entry[1] - entry[0]):
        run = [index for _, index in group]
        yield words.offsets[run[0]], words.offsets[run[-1] + 1]
