"""Heuristics that tell running text from labels. Pure.

Drawings, maps and photographs have words too: street names, room names, a title block. They do not
have many lines of several words.
"""

import re

# Below this mean OCR confidence (0 to 100) a page is rotated, in another language, or not text.
MIN_MEAN_CONFIDENCE = 60.0
# A line with so many words is not just a label.
MIN_LINE_WORDS = 5
# With so many of these lines the text is not just a caption,
MIN_LINES = 4
# and with this share of the words on them it is not just notes on a drawing. Pages of text have
# half of their words or more on these lines, the labelled drawings a third at most.
MIN_SHARE_ON_LINES = 0.4
# A table may have short lines only, but then it has many words. The labelled drawings have at most
# 121 words, the tables that need this rule 270 or more.
MIN_TABLE_WORDS = 200

# A word has at least two letters or digits: OCR sees single letters, bars and dots in hatching.
_WORD = re.compile(r"[^\W_]\S*?[^\W_]\S*")
# Chinese and Japanese have no spaces between words, and two characters to a word on average.
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_IDEOGRAPHS_OF_WORD = 2


def has_lines(text: str) -> bool:
    """Whether the text has several lines of several words each, and few words elsewhere."""
    counts = [_count_words(line) for line in text.splitlines()]
    long = [count for count in counts if count >= MIN_LINE_WORDS]
    return len(long) >= MIN_LINES and sum(long) >= MIN_SHARE_ON_LINES * sum(counts)


def has_running_text(text: str) -> bool:
    """Whether this text layer is running text or a table, not just labels."""
    return _count_words(text) >= MIN_TABLE_WORDS or has_lines(text)


def _count_words(text: str) -> int:
    others, ideographs = _IDEOGRAPH.subn(" ", text)
    return len(_WORD.findall(others)) + ideographs // _IDEOGRAPHS_OF_WORD
