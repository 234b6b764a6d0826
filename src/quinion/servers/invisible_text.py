"""Warnings of invisible text, which `extract/invisible_text.py` detects.

Detection works per page: a chunk is flagged if any of its pages has invisible text. The fields
are additions to each contract and are omitted when nothing was detected.
"""

from collections.abc import Mapping, Sequence
from operator import not_
from typing import Annotated

from pydantic import Field

NOTE = "There is text on the page that cannot be seen on it: check it before you rely on it."
MAX_WARNINGS = 20

HiddenText = Annotated[
    bool,
    Field(
        exclude_if=not_,
        description="Addition, left out where false: a page of this text has text on it that "
        "cannot be seen there. Check it before you rely on it.",
    ),
]
Warnings = Annotated[
    list[str],
    Field(
        exclude_if=not_,
        description="Addition, left out where empty: what to check, such as pages with text that "
        "cannot be seen, or documents that are not in English.",
    ),
]


def note(text: str, has_hidden: bool) -> str:
    """Prefix the text with a warning line if it has hidden text."""
    return f"[{NOTE}]\n\n{text}" if has_hidden else text


def warn(hidden: Mapping[int, int]) -> list[str]:
    """List a warning per page with hidden text, given the number of hidden characters per page."""
    return _truncate(
        [_format_warning(f"Page {page}", count) for page, count in sorted(hidden.items())]
    )


def warn_of_files(hidden: Mapping[str, Mapping[int, int]]) -> list[str]:
    """List a warning per page with hidden text, for several files by path."""
    return _truncate(
        [
            _format_warning(f"{path}, page {page}", count)
            for path, pages in sorted(hidden.items())
            for page, count in sorted(pages.items())
        ]
    )


def _format_warning(place: str, count: int) -> str:
    return (
        f"{place} has text that cannot be seen on it ({count:,} "
        f"character{'s' if count > 1 else ''}): check it before you rely on it."
    )


def _truncate(warnings: Sequence[str]) -> list[str]:
    rest = len(warnings) - MAX_WARNINGS
    return [*warnings[:MAX_WARNINGS], *([f"There are {rest:,} more such pages."] * (rest > 0))]
