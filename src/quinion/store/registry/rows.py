"""Policies and revisions as named plain values, the form in which a registry keeps them.

The names are the fields of the spec's hashes. Days and moments are ISO 8601 (moments in
UTC), None is None: SQLite keeps these as they are, Redis as text.

Reading is strict about what decides an answer (dates, status, category, counts) and takes
other programs' habits where they cannot mislead: None as empty or left out, a moment
without a zone as UTC, 9999-12-31 as no end.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeVar

from quinion.errors import InvalidDate, InvalidInput, RegistryUnavailable
from quinion.model.dates import LAST_DAY, parse_date
from quinion.model.policy import Policy, PolicyCategory, Revision, RevisionStatus

Plain = str | int | None
Row = Mapping[str, Plain]

_Value = TypeVar("_Value")


def row_of(entry: Policy | Revision) -> dict[str, Plain]:
    """All fields of an entry, in the order of the spec."""
    return {field.name: _plain(getattr(entry, field.name)) for field in fields(entry)}


def changes(before: Policy | Revision, after: Policy | Revision) -> dict[str, Plain]:
    """The fields that differ; what another program wrote in the rest stays to the letter."""
    return {
        name: value
        for name, value in row_of(after).items()
        if getattr(before, name) != getattr(after, name)
    }


def read_policy(row: Row, place: str) -> Policy:
    """The reverse of `row_of`.

    Raises:
        RegistryUnavailable: the row makes no sense; the message names its place.
    """
    try:
        return Policy(
            source=_field(row, "source", str),
            title=_optional(row, "title", str) or "",
            description=_optional(row, "description", str) or "",
            category=_field(row, "category", PolicyCategory),
            created_at=_field(row, "created_at", _moment),
            updated_at=_field(row, "updated_at", _moment),
        )
    except ValueError as error:
        raise nonsense(place, str(error)) from error


def read_revision(row: Row, place: str) -> Revision:
    """The reverse of `row_of`.

    Raises:
        RegistryUnavailable: the row makes no sense; the message names its place.
    """
    try:
        return Revision(
            revision_id=_field(row, "revision_id", str),
            source=_field(row, "source", str),
            version_label=_optional(row, "version_label", str) or "",
            effective_from=_field(row, "effective_from", parse_date),
            effective_to=_optional(row, "effective_to", _end),
            status=_field(row, "status", RevisionStatus),
            file_path=_optional(row, "file_path", Path),
            file_size_bytes=_optional(row, "file_size_bytes", _count),
            page_count=_optional(row, "page_count", _count),
            chunk_count=_optional(row, "chunk_count", _count) or 0,
            notes=_optional(row, "notes", str) or "",
            created_at=_field(row, "created_at", _moment),
            ingested_at=_optional(row, "ingested_at", _moment),
            error=_optional(row, "error", str),
        )
    except (ValueError, InvalidInput) as error:
        raise nonsense(place, str(error)) from error


def nonsense(place: str, why: str) -> RegistryUnavailable:
    """The error for an entry that cannot be understood."""
    return RegistryUnavailable(
        f"The policy registry's entry {place} makes no sense: {why.rstrip('.')}. "
        "Another program must have written it; correct or delete the entry."
    )


def _plain(value: object) -> Plain:
    if isinstance(value, date):  # a moment is one, too
        return value.isoformat()
    if value is None or isinstance(value, int):
        return value
    return str(value)


def _field(row: Row, name: str, convert: Callable[[str], _Value]) -> _Value:
    value = row.get(name)
    if value is None or value == "":
        raise ValueError(f"{name} is missing")
    try:
        return convert(str(value))
    except (ValueError, InvalidDate) as error:
        raise ValueError(f"{name} is {value!r}") from error


def _optional(row: Row, name: str, convert: Callable[[str], _Value]) -> _Value | None:
    return None if row.get(name) in (None, "") else _field(row, name, convert)


def _end(text: str) -> date | None:
    day = parse_date(text)
    return None if day == LAST_DAY else day


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
