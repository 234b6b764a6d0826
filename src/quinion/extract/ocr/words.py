"""Words that OCR read on a page, and the text that they form."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

# Words from this confidence on are reliable.
CONFIDENT = 60.0

Box = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels."""


class Engine(StrEnum):
    """The OCR engine that read a page; `BOTH` if the lines of a page are from either."""

    TESSERACT = "tesseract"
    RAPIDOCR = "rapidocr"
    BOTH = "tesseract+rapidocr"


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its confidence (0 to 100) and position.

    `line` is the number of block, paragraph and line.
    """

    text: str
    confidence: float
    line: tuple[int, int, int]
    box: Box


@dataclass(frozen=True)
class OcrResult:
    """The words of one OCR run, in reading order.

    `left_out` are the words of lines that only one engine found, and of which it is unsure.
    """

    words: tuple[Word, ...]
    engine: Engine = Engine.TESSERACT
    left_out: tuple[Word, ...] = ()

    @cached_property
    def text(self) -> str:
        """The text line by line, with an empty line between paragraphs."""
        return _join(self.words)

    @cached_property
    def confident_words(self) -> tuple[Word, ...]:
        """The words with a confidence of `CONFIDENT` or more."""
        return tuple(word for word in self.words if word.confidence >= CONFIDENT)

    @cached_property
    def confident_text(self) -> str:
        """The text of the confident words, on the same lines."""
        return _join(self.confident_words)

    @property
    def confidence(self) -> float | None:
        """The mean confidence of all words; None if there are no words."""
        return mean_confidence(self.words) if self.words else None


def mean_confidence(words: Sequence[Word]) -> float:
    """The mean confidence of at least one word."""
    return sum(word.confidence for word in words) / len(words)


def _join(words: Sequence[Word]) -> str:
    parts: list[str] = []
    before: Word | None = None
    for word in words:
        if before is not None:
            parts.append(_separator(before.line, word.line))
        parts.append(word.text)
        before = word
    return "".join(parts)


def _separator(before: tuple[int, int, int], after: tuple[int, int, int]) -> str:
    if before == after:
        return " "
    return "\n" if before[:2] == after[:2] else "\n\n"
