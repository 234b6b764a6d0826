"""Rules for the revisions of one policy: which text is in force on which day.

**Dates are exclusive, independent of the status.** No two revisions of a policy share a day,
including `processing` and `failed` ones. So a change of status never makes two texts valid at
once, and a failed upload is retried, edited or deleted instead of being shadowed by a second
entry for the same days.

**Dates resolve to ready revisions only** (`active`, `superseded`). While the successor of a text
is `processing`, or after it has `failed`, its days have no revision: the old text has ended.
`Resolution.unready` names the successor.

**The status depends on the order, not on the clock.** A ready revision is `superseded` if a
revision of its policy starts later, else `active`. Revisions are not reopened automatically: a
superseded one stays superseded when its successor is deleted, until an edit removes its end.

**Drafts are outside of all this.** A draft is `processing`, has only planned dates, may share its
days with any revision, and changes none. `plan_publication` puts it in force like a new revision.
`plan_undo` is the inverse: it deletes a revision and gives its days back to its predecessor.

Planners validate and change nothing: they return what is to be written, or raise. A registry
applies a plan in one transaction.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any

from quinion.errors import (
    InvalidInput,
    RevisionExists,
    RevisionMissing,
    RevisionOverlap,
    SoleRevision,
)
from quinion.model.policy import (
    Keep,
    Revision,
    RevisionDraft,
    RevisionEdit,
    RevisionStatus,
    RevisionUpdate,
)

_DAY = timedelta(days=1)
_MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class Plan:
    """The writes of one operation.

    `revision` is the requested one in its new state, or in its last state if `deletes` is set.
    `others` are revisions whose dates or status change as a consequence.
    """

    revision: Revision
    others: tuple[Revision, ...] = ()
    deletes: bool = False

    @property
    def written(self) -> tuple[Revision, ...]:
        """The revisions that are new or changed."""
        return self.others if self.deletes else (self.revision, *self.others)


def choose_revision_id(source: str, effective_from: date, taken: Collection[str]) -> str:
    """Generate `rev_{source}_{YYYY}_{MM}`; the second of a month ends in `_2`, and so on."""
    first = f"rev_{source}_{effective_from.year:04d}_{effective_from.month:02d}"
    number, revision_id = 1, first
    while revision_id in taken:
        number += 1
        revision_id = f"{first}_{number}"
    return revision_id


def plan_creation(
    source: str, revisions: Sequence[Revision], draft: RevisionDraft, now: datetime
) -> Plan:
    """Plan a new revision; earlier revisions without an end get one.

    Raises:
        InvalidInput: it would end before it begins.
        RevisionExists: the id of the draft is taken.
        RevisionOverlap: its dates overlap those of another revision.
    """
    taken = {revision.revision_id for revision in revisions}
    if draft.revision_id in taken:
        raise RevisionExists(
            f"{source} has a revision {draft.revision_id} already. "
            "Edit that one, or leave the id out to have one chosen."
        )
    revision_id = draft.revision_id or choose_revision_id(source, draft.effective_from, taken)
    new = draft.register(source, revision_id, now)
    return Plan(new) if new.draft else _put_in_force(new, revisions)


def plan_publication(
    source: str, revisions: Sequence[Revision], revision_id: str, start: date | None
) -> Plan:
    """Plan to put a draft in force, from its planned day on or from `start`.

    Raises:
        InvalidInput: it is no draft, or would end before it begins.
        RevisionMissing: there is no such revision.
        RevisionOverlap: its dates overlap those of another revision.
    """
    old, others = _split(source, revisions, revision_id)
    if not old.draft:
        raise InvalidInput(f"{revision_id} of {source} is no draft. It is in force {old.period}.")
    status = old.status
    if old.chunk_count and status is not RevisionStatus.FAILED:
        status = RevisionStatus.ACTIVE
    new = replace(old, draft=False, effective_from=start or old.effective_from, status=status)
    for other in _in_order(others):
        new = _follow(new, other)
    return _put_in_force(new, others)


def _put_in_force(new: Revision, revisions: Sequence[Revision]) -> Plan:
    """Plan that a revision takes its days; the one without an end before it is closed."""
    others = _in_order(revisions)
    ended = [_end_before(new, old) for old in others]
    _refuse_overlaps(new, ended)
    after = [_follow(old, new) for old in ended]
    closed = [old.revision_id for old, one in zip(others, ended, strict=True) if old != one]
    return Plan(replace(new, closed=closed[0] if closed else None), _changed(others, after))


def plan_undo(source: str, revisions: Sequence[Revision], revision_id: str) -> Plan:
    """Plan to delete a revision and to reopen the one that it closed, up to the next one.

    Raises:
        RevisionMissing: there is no such revision.
        SoleRevision: it is the only `active` one, and none is reopened.
    """
    undone, others = _split(source, revisions, revision_id)
    ordered = _in_order(others)
    reopened = next((one for one in ordered if one.revision_id == undone.closed), None)
    if reopened is None:
        return plan_deletion(source, revisions, revision_id)
    later = [one for one in ordered if one.effective_from > reopened.effective_from]
    start = min((one.effective_from for one in later), default=None)
    status = reopened.status
    if status is RevisionStatus.SUPERSEDED and not later:
        status = RevisionStatus.ACTIVE
    restored = replace(reopened, effective_to=start - _DAY if start else None, status=status)
    # What had closed the undone revision has closed the reopened one now.
    heirs = [
        replace(one, closed=restored.revision_id) for one in later if one.closed == revision_id
    ]
    return Plan(undone, (restored, *heirs), deletes=True)


def status_on(revision: Revision, revisions: Iterable[Revision], day: date) -> RevisionStatus:
    """The status relative to a day, in the registry's words.

    A ready revision whose days are not over is `active`, even if a later one is registered; one
    whose days are over is `superseded` if there is a later one, also if another program ended it.
    """
    if not revision.is_ready:
        return revision.status
    if revision.last_day >= day:
        return RevisionStatus.ACTIVE
    starts = (one.effective_from for one in _in_order(revisions))
    is_followed = any(start > revision.effective_from for start in starts)
    return RevisionStatus.SUPERSEDED if is_followed else revision.status


def _in_order(revisions: Iterable[Revision]) -> list[Revision]:
    """The revisions that have their dates for good: all but drafts."""
    return [revision for revision in revisions if not revision.draft]


def plan_edit(
    source: str, revisions: Sequence[Revision], revision_id: str, edit: RevisionEdit
) -> Plan:
    """Plan a user's edit. The id does not change, even if the month does.

    Raises:
        InvalidInput: it would end before it begins.
        RevisionMissing: there is no such revision.
        RevisionOverlap: the new dates overlap those of another revision; an edit does not change
            other revisions' dates.
    """
    old, others = _split(source, revisions, revision_id)
    new = replace(old, **_changed_fields(edit))
    if new.draft:
        return Plan(new)
    others = _in_order(others)
    dates_stay = (new.effective_from, new.effective_to) == (old.effective_from, old.effective_to)
    if dates_stay and edit.effective_to is not None:
        return Plan(new)
    _refuse_overlaps(new, others)
    if new.status is RevisionStatus.SUPERSEDED and new.effective_to is None:
        new = replace(new, status=RevisionStatus.ACTIVE)
    for other in others:
        new = _follow(new, other)
    return Plan(new, _changed(others, [_follow(other, new) for other in others]))


def plan_update(
    source: str, revisions: Sequence[Revision], revision_id: str, update: RevisionUpdate
) -> Plan:
    """Plan an update with the result of ingestion.

    `active` means that the text is ingested: a revision that has a successor, or was superseded
    before, becomes `superseded`. Only a failed revision has an error.

    Raises:
        RevisionMissing: there is no such revision.
    """
    old, others = _split(source, revisions, revision_id)
    new = replace(old, **_changed_fields(update))
    if update.status is RevisionStatus.ACTIVE and new.draft:
        new = replace(new, status=RevisionStatus.PROCESSING)
    elif update.status is RevisionStatus.ACTIVE:
        if old.status is RevisionStatus.SUPERSEDED:
            new = replace(new, status=RevisionStatus.SUPERSEDED)
        for other in _in_order(others):
            new = _follow(new, other)
    if new.status is not RevisionStatus.FAILED and isinstance(update.error, Keep):
        new = replace(new, error=None)
    return Plan(new)


def plan_deletion(source: str, revisions: Sequence[Revision], revision_id: str) -> Plan:
    """Plan a deletion. The dates of other revisions do not change.

    Raises:
        RevisionMissing: there is no such revision.
        SoleRevision: it is the only `active` revision of the policy.
    """
    old, others = _split(source, revisions, revision_id)
    active = RevisionStatus.ACTIVE
    if old.status is active and not any(other.status is active for other in others):
        raise SoleRevision(
            f"{revision_id} is the only active revision of {source}, so it can't be deleted. "
            "Register its successor, or correct it with an edit."
        )
    return Plan(old, deletes=True)


def newest_first(revisions: Iterable[Revision]) -> list[Revision]:
    """Sort by start date, then by id: other programs may let two start on one day."""
    return sorted(revisions, key=lambda r: (r.effective_from, r.revision_id), reverse=True)


def supersede(revisions: Sequence[Revision]) -> list[Revision]:
    """Set the status of active revisions that another program superseded by their dates alone."""
    latest = max((one.effective_from for one in _in_order(revisions)), default=None)
    return [
        replace(one, status=RevisionStatus.SUPERSEDED)
        if one.status is RevisionStatus.ACTIVE and latest and one.effective_from < latest
        else one
        for one in revisions
    ]


def find_revision(source: str, revisions: Sequence[Revision], revision_id: str) -> Revision:
    """Find a revision by its id.

    Raises:
        RevisionMissing: there is none.
    """
    for revision in revisions:
        if revision.revision_id == revision_id:
            return revision
    newest = [revision.revision_id for revision in newest_first(revisions)]
    known = ", ".join(newest[:_MAX_NAMED]) or "none"
    older = f" and {len(newest) - _MAX_NAMED} older ones" if len(newest) > _MAX_NAMED else ""
    raise RevisionMissing(f"{source} has no revision {revision_id!r}. It has: {known}{older}.")


def _end_before(new: Revision, old: Revision) -> Revision:
    """Auto-supersession: an earlier revision without an end ends the day before the new one."""
    if old.effective_to is None and old.effective_from < new.effective_from:
        return replace(old, effective_to=new.effective_from - _DAY)
    return old


def _follow(old: Revision, other: Revision) -> Revision:
    """Return `old`, superseded if it is active and starts before `other`."""
    if old.status is RevisionStatus.ACTIVE and old.effective_from < other.effective_from:
        return replace(old, status=RevisionStatus.SUPERSEDED)
    return old


def _refuse_overlaps(new: Revision, others: Iterable[Revision]) -> None:
    for other in newest_first(others):
        if new.overlaps(other):
            advice = "Change the dates, or edit or delete that revision first."
            if new.effective_to is None and new.effective_from < other.effective_from:
                last = other.effective_from - _DAY
                advice = f"To insert it before that one, end it on {last} or earlier."
            raise RevisionOverlap(
                f"{new.revision_id} ({new.period}) would overlap {other.revision_id} "
                f"({other.period}, {other.status}). {advice}"
            )


def _split(
    source: str, revisions: Sequence[Revision], revision_id: str
) -> tuple[Revision, list[Revision]]:
    """Split the revisions into the requested one and the others."""
    found = find_revision(source, revisions, revision_id)
    return found, [revision for revision in revisions if revision is not found]


def _changed_fields(change: RevisionEdit | RevisionUpdate) -> dict[str, Any]:
    values = {field.name: getattr(change, field.name) for field in fields(change)}
    return {name: value for name, value in values.items() if not isinstance(value, Keep)}


def _changed(before: Iterable[Revision], after: Iterable[Revision]) -> tuple[Revision, ...]:
    return tuple(new for old, new in zip(before, after, strict=True) if new != old)


class Reason(StrEnum):
    """Reason why a day has no revision.

    A day after the end of the last revision counts as a gap: the next revision is not known yet.
    """

    NO_REVISIONS = "no_revisions"
    DATE_BEFORE_FIRST_REVISION = "date_before_first_revision"
    DATE_IN_GAP = "date_in_gap"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The revision of a policy in force on a day, or the reason why there is none.

    `unready` is the revision whose dates include the day but whose text is not ingested.
    """

    source: str
    day: date
    revision: Revision | None = None
    reason: Reason | None = None
    unready: Revision | None = None


def resolve(source: str, revisions: Iterable[Revision], day: date) -> Resolution:
    """Find the revision of one policy that is in force on the day.

    If other programs made ready revisions overlap, the one that starts last wins.
    """
    ordered = newest_first(revisions)
    ready = [revision for revision in ordered if revision.is_ready]
    holding = next((revision for revision in ready if revision.covers(day)), None)
    if holding:
        return Resolution(source, day, holding)
    if not ready:
        reason = Reason.NO_REVISIONS
    elif day < ready[-1].effective_from:
        reason = Reason.DATE_BEFORE_FIRST_REVISION
    else:
        reason = Reason.DATE_IN_GAP
    unready = next((one for one in ordered if one.covers(day) and not one.draft), None)
    return Resolution(source, day, None, reason, unready)


def latest_effective(revisions: Iterable[Revision], day: date) -> Revision | None:
    """The revision in force on the day, or else the last one before it."""
    ready = (revision for revision in newest_first(revisions) if revision.is_ready)
    return next((revision for revision in ready if revision.effective_from <= day), None)
