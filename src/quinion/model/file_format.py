"""File formats that are read, and how each is split."""

from enum import StrEnum


class Format(StrEnum):
    """The format of a file, which decides how it is split."""

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
"""The supported extensions."""
