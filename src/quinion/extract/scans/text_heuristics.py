"""Does a text run, or does it only label something? Pure.

A drawing, a map or a photograph has words too: street names, room names, a title block. What
it lacks is line after line of them.
"""

import re

# Under this mean OCR confidence (0 to 100) a page is turned, in another language, or no text.
MIN_MEAN_CONFIDENCE = 60.0
# A line with so many words is more than a label.
MIN_LINE_WORDS = 5
# So many such lines are more than a caption,
MIN_LINES = 4
# and this part of the words on such lines is more than a few notes on a drawing. Pages of
# text have half of their words there or more, the labelled drawings a third at most.
MIN_SHARE_ON_LINES = 0.4
# A table may have short lines only, but then it has many; the labelled drawings that we
# measured have 121 words at most, the tables that need this rule 270 or more.
MIN_TABLE_WORDS = 200

# OCR sees lone letters, bars and dots in every hatching: a word has two letters or digits.
_WORD = re.compile(r"[^\W_]\S*?[^\W_]\S*")


def has_lines(text: str) -> bool:
    """Whether there are several lines of several words each, and few words elsewhere."""
    counts = [_count_words(line) for line in text.splitlines()]
    long = [count for count in counts if count >= MIN_LINE_WORDS]
    return len(long) >= MIN_LINES and sum(long) >= MIN_SHARE_ON_LINES * sum(counts)


def has_running_text(text: str) -> bool:
    """Whether a page with this text layer is there to be read rather than looked at."""
    return _count_words(text) >= MIN_TABLE_WORDS or has_lines(text)


def _count_words(text: str) -> int:
    return len(_WORD.findall(text))
