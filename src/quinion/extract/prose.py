"""Does a text run, or does it only label something? Pure.

A drawing, a map or a photograph has words too: street names, room names, a title block. What
it lacks is line after line of them.
"""

# Under this mean OCR confidence (0 to 100) a page is turned, in another language, or no text.
DOUBTFUL = 60.0
# A line with so many words is more than a label.
LINE_WORDS = 5
# So many such lines are more than a caption,
LINES = 4
# and this part of the words on such lines is more than a few notes on a drawing. Pages of
# text have half of their words there or more, the labelled drawings a third at most.
ON_LINES = 0.4
# A table may have short lines only, but then it has many; the labelled drawings that we
# measured have 121 words at most, the tables that need this rule 270 or more.
TABLE_WORDS = 200


def has_lines(text: str) -> bool:
    """Whether there are several lines of several words each, and few words elsewhere."""
    counts = _count_words_by_line(text)
    long = [count for count in counts if count >= LINE_WORDS]
    return len(long) >= LINES and sum(long) >= ON_LINES * sum(counts)


def has_running_text(text: str) -> bool:
    """Whether a page with this text layer is there to be read rather than looked at."""
    return has_lines(text) or sum(_count_words_by_line(text)) >= TABLE_WORDS


def _count_words_by_line(text: str) -> list[int]:
    return [sum(map(_is_word, line.split())) for line in text.splitlines()]


def _is_word(token: str) -> bool:
    # OCR sees lone letters, bars and dots in every hatching. Most words show it at once.
    return (len(token) > 1 and token[:2].isalnum()) or sum(map(str.isalnum, token)) > 1
