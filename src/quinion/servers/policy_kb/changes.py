"""Changes between revisions, in the answers of the tools. All of it is added to the contract."""

from collections.abc import Sequence
from operator import not_

from pydantic import BaseModel, Field

from quinion.ingest.policies import KnowledgeBase
from quinion.ingest.policy_comparison import compare_texts
from quinion.model.comparison import Change, Comparison, Difference, Row, SectionText
from quinion.model.policy import Revision


class NamedRevision(BaseModel):
    """One of two revisions that were compared."""

    revision_id: str
    version_label: str
    effective_from: str
    effective_to: str | None
    draft: bool = Field(
        default=False,
        exclude_if=not_,
        description="Left out where false: a draft, whose dates are only planned.",
    )

    @classmethod
    def of(cls, revision: Revision) -> "NamedRevision":
        """Convert a revision of the registry."""
        end = revision.effective_to
        return cls(
            revision_id=revision.revision_id,
            version_label=revision.version_label,
            effective_from=revision.effective_from.isoformat(),
            effective_to=end.isoformat() if end else None,
            draft=revision.draft,
        )


class ReplacedWords(BaseModel):
    """Words of the earlier text and what stands in their place in the later one."""

    earlier: str
    later: str
    flags: list[str] = Field(
        description="`number`, `date` or `obligation` (must, should, may, not …), if one changed."
    )

    @classmethod
    def of(cls, one: Difference) -> "ReplacedWords":
        """Convert a difference; line breaks become spaces."""
        return cls(
            earlier=" ".join(one.before.split()),
            later=" ".join(one.after.split()),
            flags=[str(flag) for flag in one.flags],
        )


class ChangedSection(BaseModel):
    """What became of one section, or of several that were split or merged."""

    change: str
    earlier: list[str]
    later: list[str]
    counterpart_text: str = Field(description="The text in the other revision.")
    counterpart_pages: list[int]
    differences: list[ReplacedWords]

    @classmethod
    def of(cls, row: Row, *, later: bool) -> "ChangedSection":
        """Convert a row; `later` says that the section asked for is on the later side."""
        other = row.before if later else row.after
        return cls(
            change=row.change,
            earlier=[one.ref for one in row.before],
            later=[one.ref for one in row.after],
            counterpart_text=row.text_before if later else row.text_after,
            counterpart_pages=sorted({page for one in other for page in one.pages}),
            differences=[ReplacedWords.of(one) for one in row.changes],
        )


class SectionComparison(BaseModel):
    """Addition: a section compared with another revision, from the earlier to the later one."""

    earlier: NamedRevision
    later: NamedRevision
    change: str = Field(
        description="What became of the section: unchanged, reworded, renumbered, moved (to "
        "another chapter), split, merged, added or removed. A section with others inside it is "
        "reworded if one of them changed."
    )
    counterpart: list[str] = Field(
        description="References of the section in the other revision; empty if it has none."
    )
    counts: dict[str, int] = Field(
        description="How many sections inside it, itself included, changed in which way."
    )
    changed: list[ChangedSection] = Field(
        description="Its changed sections in this part, in the order of the later revision."
    )
    truncated: bool = Field(
        default=False, description="True when not all of `changed` fits into one answer."
    )


class RevisionChanges(BaseModel):
    """Addition: what changed since the latest earlier revision with a text."""

    since: str | None = Field(description="Id of that revision; null if there is none.")
    changed_share: float | None = Field(
        description="Share of both texts that was added, removed or replaced, 0 to 1."
    )
    counts: dict[str, int] = Field(description="The number of sections by kind of change.")
    reworded: int | None = Field(
        description="The number of sections with other words, whatever their kind of change."
    )
    changed: dict[str, list[str]] = Field(
        description="References by kind of change, e.g. `Para 116 → Para 118`."
    )
    note: str | None = Field(description="Why there is nothing to compare, or null.")


async def summarize_changes(
    knowledge: KnowledgeBase, revision: Revision, older: Sequence[Revision]
) -> RevisionChanges:
    """Compare a revision with the newest older one that has a text."""
    before = next((one for one in older if one.chunk_count), None)
    if not revision.chunk_count:
        return _nothing(
            f"{revision.revision_id} has no text. Ingest it with ingest_policy_revision."
        )
    if before is None:
        return _nothing("There is no earlier revision with a text.")
    comparison = await compare_texts(knowledge, before, revision)
    return RevisionChanges(
        since=before.revision_id,
        changed_share=round(comparison.changed_share, 4),
        counts=count_changes(comparison),
        reworded=comparison.reworded,
        changed=list_refs(comparison.changed),
        note=None,
    )


def _nothing(note: str) -> RevisionChanges:
    return RevisionChanges(
        since=None, changed_share=None, counts={}, reworded=None, changed={}, note=note
    )


def count_changes(comparison: Comparison) -> dict[str, int]:
    """Return the number of sections by kind of change."""
    return {str(change): count for change, count in comparison.counts.items()}


def list_refs(rows: Sequence[Row]) -> dict[str, list[str]]:
    """List the references of rows by kind of change."""
    return {
        str(change): refs
        for change in Change
        if (refs := [row.refs for row in rows if row.change is change])
    }


def describe_section(
    rows: Sequence[Row], path: tuple[str, ...], *, later: bool
) -> tuple[str, list[str]]:
    """Return what became of the section at this path, and its references on the other side."""
    for row in rows:
        here, there = (row.after, row.before) if later else (row.before, row.after)
        if any(one.path == path for one in here):
            is_changed = any(one.change is not Change.UNCHANGED for one in rows)
            whole = Change.REWORDED if is_changed else Change.UNCHANGED
            change = whole if row.change is Change.UNCHANGED else row.change
            return str(change), [one.ref for one in there]
    return str(Change.REWORDED), []


def find_root(sections: Sequence[SectionText]) -> tuple[str, ...]:
    """Return the path of the innermost section that has all of these inside it."""
    first, *others = (one.path for one in sections)
    depth = min([len(first), *(_shared(first, other) for other in others)])
    return first[:depth]


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
