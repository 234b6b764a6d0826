"""Part of a file as text: what a reader of a format without pages returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Syntax(StrEnum):
    """Syntax of a text, which decides how it is split."""

    PLAIN = "plain"
    MARKDOWN = "markdown"
    PYTHON = "python"


class Lines(StrEnum):
    """Meaning of the lines of a part: what their numbers are in the file."""

    FILE = "file"
    ROWS = "rows"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text of a file, or of one part of it: a slide, a sheet, a chapter.

    `place` is what a result cites, for example `{"slide": 3}`; it becomes metadata of the chunks.
    An entire file has no place: its lines are cited, or its headings if it was converted.
    """

    text: str
    syntax: Syntax = Syntax.PLAIN
    place: Mapping[str, str | int] = field(default_factory=dict)
    lines: Lines = Lines.FILE
