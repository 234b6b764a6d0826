"""How a document is printed: the size of its running text, and what stands out from it."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from quinion.model.line import Line

# Larger than the running text by this much is meant as a heading.
_LARGER = 1.12
# Smaller by this much is meant as a note.
_SMALLER = 0.94
# Where more of the text is bold than this, bold says nothing.
_BOLD_SHARE = 0.4
# A line is no taller than so many times its size; what is was written up or down the page.
_TALLEST = 2.0
# A heading is shorter than this, in characters.
_LONGEST_TITLE = 160
# Running text has lines of so many characters at least; table cells seldom have.
_PROSE_LINE = 50

_ENDS_LIKE_PROSE = re.compile(r"(?:[,;:.]|\b(?:and|or|the|of|to|a|in|for|with|by))$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Typography:
    """`body_size` is None where nothing but the text is known."""

    body_size: float | None
    bold_is_rare: bool

    def is_large(self, line: Line) -> bool:
        """Whether the line is larger than the running text."""
        if line.size is None or self.body_size is None:
            return False
        return line.size >= self.body_size * _LARGER and is_horizontal(line)

    def is_small(self, line: Line) -> bool:
        """Whether the line is smaller than the running text."""
        if line.size is None or self.body_size is None:
            return False
        return line.size <= self.body_size * _SMALLER

    def stands_out(self, line: Line) -> bool:
        """Whether the line is printed as headings are: larger, or bold where little is."""
        if self.is_large(line):
            return True
        return line.bold and self.bold_is_rare and not self.is_small(line) and is_horizontal(line)


def measure(lines: Sequence[Line]) -> Typography:
    """The size that most letters have, and whether bold is rare enough to mean something."""
    letters: Counter[float] = Counter()
    bold = 0
    printed = [line for line in lines if line.size is not None]
    for line in [line for line in printed if len(line.text) >= _PROSE_LINE] or printed:
        if line.size is not None:
            letters[round(line.size * 2) / 2] += len(line.text)
            bold += len(line.text) if line.bold else 0
    if not letters:
        return Typography(None, False)
    (body_size, _), *_ = letters.most_common(1)
    return Typography(body_size, bold < _BOLD_SHARE * letters.total())


def is_title(text: str) -> bool:
    """Whether the text could be a title: short, of letters, and not part of a sentence."""
    letters = sum(letter.isalpha() for letter in text)
    return (
        len(text) <= _LONGEST_TITLE
        and letters > len(text) / 2
        and text.isprintable()
        and not text[0].islower()
        and not _ENDS_LIKE_PROSE.search(text)
    )


def is_horizontal(line: Line) -> bool:
    """Whether the line is written across the page, not up or down."""
    if line.box is None or line.size is None:
        return True
    return line.box[3] - line.box[1] < line.size * _TALLEST
