"""Brute-force reference registry: every policy maps each day to its revision.

It has no intervals: supersession removes days, and an overlap is a day claimed by two revisions.
The calendar is short and crosses the end of a February. Its last day represents all later days; a
revision with that day is open-ended.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta

from quinion.model.policy import RevisionStatus
from quinion.model.revisions import Reason

FIRST = date(2024, 2, 20)
EVER_AFTER = 24
PROCESSING, ACTIVE, SUPERSEDED, FAILED = RevisionStatus


def day_of(page: int) -> date:
    return FIRST + timedelta(days=page)


def epoch_of(page: int) -> int:
    return (day_of(page) - date(1970, 1, 1)).days


class Refused(Exception):
    """The code of the error that a registry must raise."""


@dataclass
class Entry:
    pages: set[int]
    status: RevisionStatus = PROCESSING

    @property
    def start(self) -> int:
        return min(self.pages)

    @property
    def end(self) -> date | None:
        return None if EVER_AFTER in self.pages else day_of(max(self.pages))


@dataclass
class DayBook:
    """One policy."""

    entries: dict[str, Entry] = field(default_factory=dict)

    def create(self, first: int, last: int | None) -> Entry:
        """Check, tear out what is superseded, and return the entry, still without an id."""
        new = Entry(_pages(first, last))
        kept = {
            id_: entry.pages - _pages(first, None)
            if EVER_AFTER in entry.pages and entry.start < first
            else entry.pages
            for id_, entry in self.entries.items()
        }
        if any(pages & new.pages for pages in kept.values()):
            raise Refused("revision_overlap")
        for id_, pages in kept.items():
            self.entries[id_].pages = pages
        self._age(new)
        return new

    def edit(self, id_: str, first: int | None, last: int | None, *, open_end: bool) -> None:
        """Edit an entry; None keeps a value, `open_end` removes the end."""
        entry = self._find(id_)
        start = entry.start if first is None else first
        end = max(entry.pages) if last is None else last
        pages = _pages(start, None if open_end or end == EVER_AFTER else end)
        if any(pages & other.pages for key, other in self.entries.items() if key != id_):
            raise Refused("revision_overlap")
        moved = pages != entry.pages
        entry.pages = pages
        if EVER_AFTER in pages and entry.status is SUPERSEDED and (moved or open_end):
            entry.status = ACTIVE
        if moved:
            self._age(entry)

    def update(self, id_: str, status: RevisionStatus) -> None:
        entry = self._find(id_)
        if status is ACTIVE and entry.status is SUPERSEDED:
            return
        entry.status = status
        if status is ACTIVE and self._is_followed(entry):
            entry.status = SUPERSEDED

    def delete(self, id_: str) -> None:
        entry = self._find(id_)
        active = [other for other in self.entries.values() if other.status is ACTIVE]
        if entry.status is ACTIVE and len(active) == 1:
            raise Refused("sole_active_revision")
        del self.entries[id_]

    def holders(self, pages: Iterable[int]) -> list[str]:
        """Return for each day the id of the revision in force, or the reason why there is none."""
        ready = {
            page: id_
            for id_, entry in self.entries.items()
            if entry.status in (ACTIVE, SUPERSEDED)
            for page in entry.pages
        }
        first = min(ready, default=None)
        return [ready.get(min(page, EVER_AFTER)) or _reason(page, first) for page in pages]

    def _find(self, id_: str) -> Entry:
        if id_ not in self.entries:
            raise Refused("revision_not_found")
        return self.entries[id_]

    def _is_followed(self, entry: Entry) -> bool:
        return any(other.start > entry.start for other in self.entries.values())

    def _age(self, moved: Entry) -> None:
        """Mark active revisions with a later one as superseded."""
        for entry in self.entries.values():
            if entry.status is ACTIVE and entry.start < moved.start:
                entry.status = SUPERSEDED
        if moved.status is ACTIVE and self._is_followed(moved):
            moved.status = SUPERSEDED


def _reason(page: int, first: int | None) -> Reason:
    if first is None:
        return Reason.NO_REVISIONS
    return Reason.DATE_BEFORE_FIRST_REVISION if page < first else Reason.DATE_IN_GAP


def _pages(first: int, last: int | None) -> set[int]:
    if last is not None and last < first:
        raise Refused("invalid_input")
    return set(range(first, EVER_AFTER + 1 if last is None else last + 1))
