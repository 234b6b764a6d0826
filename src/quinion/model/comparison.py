"""Comparison of two revisions of a document, section by section.

Every section of both revisions is in exactly one row. A row says what became of the section, and
which words differ.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from quinion.model.section import Span


class Change(StrEnum):
    """What became of a section.

    A renumbered or moved section can have other words as well, see `Row.is_reworded`.
    """

    UNCHANGED = "unchanged"
    REWORDED = "reworded"
    RENUMBERED = "renumbered"
    MOVED = "moved"
    SPLIT = "split"
    MERGED = "merged"
    ADDED = "added"
    REMOVED = "removed"


class Flag(StrEnum):
    """Why a difference matters in law: a number, a date, or a word such as `must` changed."""

    NUMBER = "number"
    DATE = "date"
    OBLIGATION = "obligation"


MIRRORED = {
    Change.SPLIT: Change.MERGED,
    Change.MERGED: Change.SPLIT,
    Change.ADDED: Change.REMOVED,
    Change.REMOVED: Change.ADDED,
}
"""The change that is seen when the revisions are exchanged; the others stay as they are."""

SEPARATOR = "\n\n"
"""Stands between the texts of several sections."""


@dataclass(frozen=True, slots=True)
class SectionText:
    """One section of a revision, without its subsections.

    `path` has the references of the enclosing sections, outermost first, and its own last.
    """

    ref: str
    path: tuple[str, ...]
    pages: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Words that differ: `before` was replaced by `after`; one of them may be empty.

    The spans are offsets in `Row.text_before` and `Row.text_after`. `is_spelling` marks what looks
    like a misread letter, not like a change by the author; such a difference is no change.
    """

    before: str
    after: str
    before_span: Span
    after_span: Span
    flags: tuple[Flag, ...] = ()
    is_spelling: bool = False

    def mirror(self) -> "Difference":
        """Return the difference in the other direction."""
        return Difference(
            self.after,
            self.before,
            self.after_span,
            self.before_span,
            self.flags,
            self.is_spelling,
        )


@dataclass(frozen=True)
class Row:
    """Sections that belong together: one on each side, or several if split or merged."""

    change: Change
    before: tuple[SectionText, ...]
    after: tuple[SectionText, ...]
    differences: tuple[Difference, ...] = ()

    @cached_property
    def text_before(self) -> str:
        return join_texts(self.before)

    @cached_property
    def text_after(self) -> str:
        return join_texts(self.after)

    @property
    def changes(self) -> list[Difference]:
        """The differences that are changes of the wording."""
        return [one for one in self.differences if not one.is_spelling]

    @property
    def is_reworded(self) -> bool:
        return bool(self.changes)

    @property
    def flags(self) -> tuple[Flag, ...]:
        found = {flag for one in self.changes for flag in one.flags}
        return tuple(flag for flag in Flag if flag in found)

    @property
    def refs(self) -> str:
        """The references on both sides, e.g. `Para 116 → Para 118`."""
        sides = [", ".join(one.ref for one in side) for side in (self.before, self.after)]
        return " → ".join(dict.fromkeys(filter(None, sides)))

    @property
    def size(self) -> int:
        """The number of characters on both sides."""
        return sum(len(one.text) for one in (*self.before, *self.after))

    @property
    def changed_size(self) -> int:
        """The number of characters on both sides that were added, removed or replaced."""
        if self.before and self.after:
            return sum(len(one.before) + len(one.after) for one in self.changes)
        return self.size

    def mirror(self) -> "Row":
        """Return the row in the other direction."""
        return Row(
            MIRRORED.get(self.change, self.change),
            self.after,
            self.before,
            tuple(one.mirror() for one in self.differences),
        )


@dataclass(frozen=True)
class Comparison:
    """Rows in the order of the later revision; a removed section stands where it was."""

    rows: tuple[Row, ...]

    @cached_property
    def counts(self) -> dict[Change, int]:
        """The number of rows of each kind."""
        found = Counter(row.change for row in self.rows)
        return {change: found[change] for change in Change}

    @property
    def changed(self) -> list[Row]:
        return [row for row in self.rows if row.change is not Change.UNCHANGED]

    @cached_property
    def reworded(self) -> int:
        """The number of rows with other words, whatever their kind."""
        return sum(row.is_reworded for row in self.rows)

    @cached_property
    def changed_share(self) -> float:
        """The share of both texts that was added, removed or replaced, 0 to 1."""
        size = sum(row.size for row in self.rows)
        return sum(row.changed_size for row in self.rows) / size if size else 0.0

    def list_within(self, path: tuple[str, ...], *, later: bool) -> list[Row]:
        """List the rows of a section with all that is inside it, on the later or earlier side.

        Sections of the other side without a counterpart are included if they are inside the
        section's counterpart.
        """
        sides = [(row, *_sides(row, later=later)) for row in self.rows]
        outer = [
            other.path
            for _, here, there in sides
            if any(one.path == path for one in here)
            for other in there
        ]
        return [
            row
            for row, here, there in sides
            if any(_is_inside(one, path) for one in here)
            or (not here and any(_is_inside(one, other) for one in there for other in outer))
        ]


def _sides(row: Row, *, later: bool) -> tuple[tuple[SectionText, ...], tuple[SectionText, ...]]:
    return (row.after, row.before) if later else (row.before, row.after)


def _is_inside(section: SectionText, path: tuple[str, ...]) -> bool:
    return section.path[: len(path)] == path


def join_texts(sections: Iterable[SectionText]) -> str:
    """Join the texts of sections; an empty line separates them."""
    return SEPARATOR.join(one.text for one in sections)


def sections_of(rows: Iterable[Row]) -> tuple[Sequence[SectionText], Sequence[SectionText]]:
    """Return the sections of both sides, in the order of the rows."""
    found = list(rows)
    return (
        [one for row in found for one in row.before],
        [one for row in found for one in row.after],
    )
