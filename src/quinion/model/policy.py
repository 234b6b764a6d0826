"""Policies and their revisions, with exactly the fields that the registry stores.

A policy is a named document (the NPPF). A revision is one text of it, with the days on which that
text is in force, both ends included. Drafts are the input for new ones and validate what users
enter. `Policy` and `Revision` hold the contents of a registry, and reject only values that would
lead to wrong answers.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path

from quinion.errors import InvalidInput
from quinion.model.dates import LAST_DAY

_SLUG = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
# Chunk ids join their parts with two underscores, so a revision id has only single ones.
_REVISION_ID = re.compile(r"[A-Za-z0-9]+(_[A-Za-z0-9]+)*")


class PolicyCategory(StrEnum):
    NATIONAL_POLICY = "national_policy"
    NATIONAL_GUIDANCE = "national_guidance"
    LOCAL_PLAN = "local_plan"
    LOCAL_GUIDANCE = "local_guidance"
    COUNTY_STRATEGY = "county_strategy"


class RevisionStatus(StrEnum):
    """Status of a revision. It does not depend on the current date: see `model.revisions`."""

    PROCESSING = "processing"  # registered; its text is not ingested yet
    ACTIVE = "active"  # its text is ingested, and there is no later revision
    SUPERSEDED = "superseded"  # its text is ingested, and there is a later revision
    FAILED = "failed"  # ingestion failed; `error` has the reason


READY = frozenset({RevisionStatus.ACTIVE, RevisionStatus.SUPERSEDED})


@dataclass(frozen=True, slots=True)
class Policy:
    """A registered policy; `updated_at` changes with each change of its revisions.

    Other programs write to the registry too: the category may be one of theirs, and the times may
    be unknown.
    """

    source: str
    title: str
    description: str
    category: PolicyCategory | str
    created_at: datetime | None
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Revision:
    """One text of a policy, in force from `effective_from` to `effective_to`, both included.

    An `effective_to` of `None` means no end. 9999-12-31 is rejected: chunks use that day for
    `None`, and a revision without an end has only one representation here.

    A draft has the dates that are planned for it, and is never in force. `closed` is the id of the
    revision that this one ended when it was put in force. Both are additions to the registry's
    fields, stored only where they are set.
    """

    revision_id: str
    source: str
    version_label: str
    effective_from: date
    effective_to: date | None
    status: RevisionStatus
    file_path: Path | None
    file_size_bytes: int | None
    page_count: int | None
    chunk_count: int
    notes: str
    created_at: datetime | None
    ingested_at: datetime | None
    error: str | None
    draft: bool = False
    closed: str | None = None

    def __post_init__(self) -> None:
        if self.effective_to is None:
            return
        if self.effective_to < self.effective_from:
            raise InvalidInput(
                f"effective_to ({self.effective_to}) is before effective_from "
                f"({self.effective_from}). A revision ends on its last day in force."
            )
        if self.effective_to == LAST_DAY:
            raise InvalidInput(
                f"{LAST_DAY} stands for a revision without an end. Leave effective_to out."
            )

    @property
    def is_ready(self) -> bool:
        """Whether its text can be searched; dates resolve to ready revisions only."""
        return self.status in READY and not self.draft

    @property
    def last_day(self) -> date:
        """`effective_to`, or the last day of the calendar if there is no end."""
        return LAST_DAY if self.effective_to is None else self.effective_to

    @property
    def period(self) -> str:
        """The dates for messages: `2023-09-05 to 2024-12-11`, `from 2024-12-12`."""
        if self.effective_to is None:
            return f"from {self.effective_from}"
        return f"{self.effective_from} to {self.effective_to}"

    def covers(self, day: date) -> bool:
        """Whether the revision's dates include the day."""
        return self.effective_from <= day <= self.last_day

    def overlaps(self, other: "Revision") -> bool:
        """Whether both revisions share a day."""
        return self.effective_from <= other.last_day and other.effective_from <= self.last_day


@dataclass(frozen=True, slots=True)
class PolicyDraft:
    """Input for a new policy."""

    source: str
    title: str
    category: PolicyCategory
    description: str = ""

    def __post_init__(self) -> None:
        check_slug(self.source)
        _check_text("title", self.title)
        _check_encodable("description", self.description)

    def register(self, now: datetime) -> Policy:
        """Build the policy, created at `now`."""
        return Policy(self.source, self.title, self.description, self.category, now, now)


@dataclass(frozen=True, slots=True)
class RevisionDraft:
    """Input for a new revision; without a `revision_id`, one is generated."""

    version_label: str
    effective_from: date
    effective_to: date | None = None
    revision_id: str | None = None
    file_path: Path | None = None
    file_size_bytes: int | None = None
    notes: str = ""
    as_draft: bool = False

    def __post_init__(self) -> None:
        _check_text("version_label", self.version_label)
        _check_encodable("notes", self.notes)
        _check_encodable("file_path", self.file_path)
        _check_count("file_size_bytes", self.file_size_bytes)
        if self.revision_id is not None and not is_revision_id(self.revision_id):
            raise InvalidInput(
                f"{self.revision_id!r} is not a revision id. Use letters and digits joined by "
                "single underscores, like rev_NPPF_2024_12, or leave it out."
            )

    def register(self, source: str, revision_id: str, now: datetime) -> Revision:
        """Build the revision, created at `now`; its text is not ingested yet."""
        return Revision(
            revision_id=revision_id,
            source=source,
            version_label=self.version_label,
            effective_from=self.effective_from,
            effective_to=self.effective_to,
            status=RevisionStatus.PROCESSING,
            file_path=self.file_path,
            file_size_bytes=self.file_size_bytes,
            page_count=None,
            chunk_count=0,
            notes=self.notes,
            created_at=now,
            ingested_at=None,
            error=None,
            draft=self.as_draft,
        )


@dataclass(frozen=True, slots=True)
class Keep:
    """Sentinel for a field that a change leaves as it is; `None` is a regular value."""


KEEP = Keep()


@dataclass(frozen=True, slots=True)
class RevisionEdit:
    """User changes to a revision. `effective_to=None` reopens it: it has no end."""

    version_label: str | Keep = KEEP
    effective_from: date | Keep = KEEP
    effective_to: date | Keep | None = KEEP
    notes: str | Keep = KEEP

    def __post_init__(self) -> None:
        if isinstance(self.version_label, str):
            _check_text("version_label", self.version_label)
        _check_encodable("notes", self.notes)


@dataclass(frozen=True, slots=True)
class RevisionUpdate:
    """Ingestion's changes to a revision; they never include dates."""

    status: RevisionStatus | Keep = KEEP
    file_path: Path | Keep | None = KEEP
    file_size_bytes: int | Keep | None = KEEP
    page_count: int | Keep | None = KEEP
    chunk_count: int | Keep = KEEP
    ingested_at: datetime | Keep | None = KEEP
    error: str | Keep | None = KEEP

    def __post_init__(self) -> None:
        _check_encodable("file_path", self.file_path)
        _check_encodable("error", self.error)
        for name in ("file_size_bytes", "page_count", "chunk_count"):
            _check_count(name, getattr(self, name))


def is_revision_id(text: str) -> bool:
    """Check for the form of a revision's id, which no date has."""
    return _REVISION_ID.fullmatch(text) is not None


def check_slug(source: str) -> None:
    """Check that a source is UPPER_SNAKE_CASE.

    Raises:
        InvalidInput: it is not.
    """
    if not _SLUG.fullmatch(source):
        raise InvalidInput(
            f"{source!r} is not a source slug. Use capital letters and digits joined by single "
            "underscores, starting with a letter, like LTN_1_20."
        )


def _check_text(name: str, text: str) -> None:
    if not text.strip():
        raise InvalidInput(f"{name} is empty. Give it a text.")
    _check_encodable(name, text)


def _check_encodable(name: str, value: str | Path | Keep | None) -> None:
    """Reject text that can't be encoded, such as a file name that is not UTF-8."""
    if isinstance(value, str | Path):
        try:
            str(value).encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(f"{name} is not valid Unicode text: {str(value)!r}.") from error


def _check_count(name: str, number: int | Keep | None) -> None:
    if isinstance(number, int) and number < 0:
        raise InvalidInput(f"{name} is {number}; it cannot be negative.")


SEED_POLICIES = (
    PolicyDraft(
        "LTN_1_20", "Cycle Infrastructure Design (LTN 1/20)", PolicyCategory.NATIONAL_GUIDANCE
    ),
    PolicyDraft("NPPF", "National Planning Policy Framework", PolicyCategory.NATIONAL_POLICY),
    PolicyDraft("MANUAL_FOR_STREETS", "Manual for Streets", PolicyCategory.NATIONAL_GUIDANCE),
    PolicyDraft("CHERWELL_LOCAL_PLAN", "Cherwell Local Plan 2011-2031", PolicyCategory.LOCAL_PLAN),
    PolicyDraft(
        "OCC_LTCP",
        "Oxfordshire Local Transport and Connectivity Plan",
        PolicyCategory.COUNTY_STRATEGY,
    ),
    PolicyDraft(
        "BICESTER_LCWIP",
        "Bicester Local Cycling and Walking Infrastructure Plan",
        PolicyCategory.LOCAL_GUIDANCE,
    ),
)
