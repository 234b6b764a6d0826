"""A passage: a span of a file's text that is embedded and cited by itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Format(StrEnum):
    """What a file is, and so how it is split."""

    MARKDOWN = "markdown"
    PDF = "pdf"
    TEXT = "text"
    CODE = "code"


FORMATS = {
    ".md": Format.MARKDOWN,
    ".pdf": Format.PDF,
    ".txt": Format.TEXT,
    ".py": Format.CODE,
}
"""The extensions that are read."""


@dataclass(frozen=True, slots=True)
class Passage:
    """`text` is exactly `document[start:end]`, or the page's text there, in a file with pages.

    `tokens` are the embedding model's, of the text alone. `heading` says what the text stands
    under where it does not say so itself, and is embedded before it; else it is empty.
    `metadata` has the fields of the file's format; what does not apply is left out. `hidden` is
    how many characters cannot be seen on the page that it is from.
    """

    text: str
    start: int
    end: int
    tokens: int
    heading: str
    metadata: Mapping[str, str | int]
    hidden: int = 0


def passage_of_json(frame: Mapping[str, Any]) -> Passage:
    """What `dataclasses.asdict` and JSON have made of a passage, as it was."""
    return Passage(**frame)
