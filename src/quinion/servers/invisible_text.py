"""Warnings and flags for invisible text, which `extract/invisible_text.py` detects.

It is known by the page: a chunk is flagged when a page that it lies on has such text. These are
additions to each contract, and left out of an answer where there is nothing to tell.
"""

from collections.abc import Mapping, Sequence
from operator import not_
from typing import Annotated

from pydantic import Field

from quinion.model.record import Metadata

FIELD = "hidden_text"
"""Of a chunk's metadata; a chunk without hidden text does not have it."""
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
        description="Addition, left out where empty: the pages with text that cannot be seen.",
    ),
]


def flag(has_hidden: bool) -> Metadata:
    """What a chunk's metadata says of it: nothing where there is none."""
    return {FIELD: True} if has_hidden else {}


def is_flagged(metadata: Metadata) -> bool:
    """Whether a chunk with this metadata was flagged."""
    return bool(metadata.get(FIELD, False))


def note(text: str, has_hidden: bool) -> str:
    """The text for people and models, after a line that says what there is to say of it."""
    return f"[{NOTE}]\n\n{text}" if has_hidden else text


def warn(hidden: Mapping[int, int]) -> list[str]:
    """A line for each page that has so many hidden characters, for the first of many pages."""
    return _truncate(
        [_format_warning(f"Page {page}", count) for page, count in sorted(hidden.items())]
    )


def warn_of_files(hidden: Mapping[str, Mapping[int, int]]) -> list[str]:
    """The same for the pages of several files, by their paths."""
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
