"""Serialization of policies and revisions as rows of plain values.

The names are the fields of the spec's hashes. Dates and times are ISO 8601 (times in UTC), and
`None` is `None`: SQLite stores these values as they are, Redis as text.

Parsing is strict about values that affect answers (days, status, number of chunks). It accepts
other programs' conventions where they are unambiguous: empty or omitted values for `None`, times
without a zone as UTC, 9999-12-31 for no end. Anything else that is missing or invalid is read as
unknown, with a warning in the log; a category of another program is read as it is.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from quinion.errors import InvalidDate, InvalidInput, RegistryUnavailable
from quinion.model.dates import LAST_DAY, parse_date
from quinion.model.policy import Policy, PolicyCategory, Revision, RevisionStatus

ADDITIONS = frozenset({"draft", "closed"})
"""Fields that the spec's hashes do not have. Without a value, they are not stored in Redis."""

Plain = str | int | None

OTHER = "other"
"""Category of a policy without one."""
MAX_WARNINGS = 1_000

log = logging.getLogger(__name__)

_Entry = TypeVar("_Entry", Policy, Revision)


def row_of(entry: Policy | Revision) -> dict[str, Plain]:
    """Convert an entry to a row, with the fields in the order of the spec."""
    return {field.name: _plain(getattr(entry, field.name)) for field in fields(entry)}


def read_entry(kind: type[_Entry], row: Mapping[str, Plain], place: str) -> _Entry:
    """Parse a row of `row_of`.

    Raises:
        RegistryUnavailable: the row is invalid; the message names its place.
    """
    try:
        return kind(**{name: _read(row, name, place) for name in kind.__dataclass_fields__})
    except (ValueError, InvalidInput) as error:
        raise invalid_entry(place, str(error)) from error


def invalid_entry(place: str, why: str) -> RegistryUnavailable:
    """Build the error for an entry that cannot be parsed."""
    return RegistryUnavailable(
        f"The policy registry's entry {place} is invalid: {why.rstrip('.')}. "
        "Another program must have written it; correct or delete the entry."
    )


@lru_cache(MAX_WARNINGS)
def warn_of_entry(place: str, why: str) -> None:
    """Log a problem of an entry, once: every search reads the registry."""
    log.warning("The policy registry's entry %s is incomplete: %s", place, why)


def _plain(value: object) -> Plain:
    if isinstance(value, date):  # datetime is a subclass
        return value.isoformat()
    if isinstance(value, bool):
        return int(value) or None
    if value is None or isinstance(value, int):
        return value
    return str(value)


def _read(row: Mapping[str, Plain], name: str, place: str) -> Any:
    convert, empty = _FIELDS[name]
    value = row.get(name)
    if value is None or value == "":
        if empty is _REQUIRED:
            raise ValueError(f"{name} is missing")
        if name in _EXPECTED:
            warn_of_entry(place, f"{name} is missing")
        return empty
    try:
        return convert(str(value))
    except (ValueError, InvalidDate) as error:
        if name in _STRICT:
            raise ValueError(f"{name} is {value!r}") from error
        warn_of_entry(place, f"{name} is {value!r}")
        return value if name == "category" else empty


def _end(text: str) -> date | None:
    day = parse_date(text)
    return None if day == LAST_DAY else day


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _flag(text: str) -> bool:
    return text not in ("0", "False", "false")


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


_REQUIRED = object()
_FIELDS: Mapping[str, tuple[Callable[[str], Any], Any]] = {
    "source": (str, _REQUIRED),
    "title": (str, ""),
    "description": (str, ""),
    "category": (PolicyCategory, OTHER),
    "revision_id": (str, _REQUIRED),
    "version_label": (str, ""),
    "effective_from": (parse_date, _REQUIRED),
    "effective_to": (_end, None),
    "status": (RevisionStatus, _REQUIRED),
    "file_path": (Path, None),
    "file_size_bytes": (_count, None),
    "page_count": (_count, None),
    "chunk_count": (_count, 0),
    "notes": (str, ""),
    "created_at": (_moment, None),
    "updated_at": (_moment, None),
    "ingested_at": (_moment, None),
    "error": (str, None),
    "draft": (_flag, False),
    "closed": (str, None),
}
"""Parser of each field, and the value of an empty or omitted field."""
_EXPECTED = frozenset({"category", "created_at", "updated_at"})
_STRICT = frozenset({"effective_from", "effective_to", "status", "chunk_count"})
