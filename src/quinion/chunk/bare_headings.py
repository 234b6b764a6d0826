"""Chunks that are only a heading, and the text below that they are embedded and found with.

A heading alone answers no question, and its few words match many.
"""

import re

MAX_WORDS = 12
_LEADERS = re.compile(r"(?:[.·…_]\s?){4,}")
_ENTRY_END = re.compile(rf"{_LEADERS.pattern}\s*\d{{1,4}}\s*$")
_SENTENCE_END = re.compile(r"[.!?:;][\"'”’)]*$")


def is_bare_heading(text: str) -> bool:
    """Whether a text is a few words and no sentence: a heading, a caption, a line of contents."""
    plain = _LEADERS.sub(" ", text).strip()
    return (
        len(plain.split()) <= MAX_WORDS
        and any(map(str.isalpha, plain))
        and not _SENTENCE_END.search(plain)
    )


def is_contents(text: str) -> bool:
    """Whether a text is only a few lines of a table of contents, with leaders and numbers."""
    return is_bare_heading(text) and all(
        _ENTRY_END.search(line) or not any(map(str.isalpha, line)) for line in text.splitlines()
    )
