"""Typography of a document: the size of its body text, and the lines that stand out."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from quinion.model.line import Line

# Size ratio to the body text from which a line counts as a heading.
_LARGER = 1.12
# Size ratio to the body text up to which a line counts as a note.
_SMALLER = 0.94
# If a larger share of the text is bold, bold is not significant.
_BOLD_SHARE = 0.4
# Maximum height of a horizontal line, as a multiple of its size.
_TALLEST = 2.0
# Longest heading, in characters.
_LONGEST_TITLE = 160
# Minimum line length of body text, in characters; table cells are seldom that long.
_PROSE_LINE = 50

_ENDS_LIKE_PROSE = re.compile(r"(?:[,;:.]|\b(?:and|or|the|of|to|a|in|for|with|by))$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Typography:
    """Body text size and use of bold. `body_size` is None without layout."""

    body_size: float | None
    bold_is_rare: bool

    def is_large(self, line: Line) -> bool:
        """Check that the line is larger than the body text."""
        if line.size is None or self.body_size is None:
            return False
        return line.size >= self.body_size * _LARGER and is_horizontal(line)

    def is_small(self, line: Line) -> bool:
        """Check that the line is smaller than the body text."""
        if line.size is None or self.body_size is None:
            return False
        return line.size <= self.body_size * _SMALLER

    def stands_out(self, line: Line) -> bool:
        """Check that the line is printed like a heading: larger, or bold where bold is rare."""
        if self.is_large(line):
            return True
        return line.bold and self.bold_is_rare and not self.is_small(line) and is_horizontal(line)


def measure(lines: Sequence[Line]) -> Typography:
    """Measure the most common font size, and whether bold is rare enough to be significant."""
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
    """Check that the text can be a title: short, of letters, and not part of a sentence."""
    letters = sum(letter.isalpha() for letter in text)
    return (
        len(text) <= _LONGEST_TITLE
        and letters > len(text) / 2
        and text.isprintable()
        and not text[0].islower()
        and not _ENDS_LIKE_PROSE.search(text)
    )


def is_horizontal(line: Line) -> bool:
    """Check that the line is horizontal, not vertical."""
    if line.box is None or line.size is None:
        return True
    return line.box[3] - line.box[1] < line.size * _TALLEST
