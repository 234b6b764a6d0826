"""Answers of the tools, with the fields that the contract prescribes.

Fields that are not in the contract are marked as additions. A strict client can ignore them.
The docstrings of the models are part of the output schemas that clients see.
"""

from operator import not_
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from quinion.model.comparison import Row
from quinion.model.policy import Policy, Revision, RevisionStatus
from quinion.model.record import Hit
from quinion.servers.base import Answer, FilterWarning, is_command
from quinion.servers.evidence.citations import OptionalEvidence
from quinion.servers.invisible_text import HiddenText, Warnings
from quinion.servers.policy_kb.changes import NamedRevision, RevisionChanges, SectionComparison
from quinion.servers.search_mode import MergedChunks, OptionalMatch, OptionalMerged, WordMatch


def _is_missing(value: object) -> bool:
    return value is None


class Failed(BaseModel):
    """Something went wrong; nothing was changed."""

    status: Literal["error"] = "error"
    error_type: str
    message: str


class Result(BaseModel):
    """One chunk that was found."""

    chunk_id: str
    text: str
    relevance_score: float
    source: str
    revision_id: str
    version_label: str
    section_ref: str
    page_number: int
    hidden_text: HiddenText = False
    match: OptionalMatch = None
    merged: OptionalMerged = None
    evidence: OptionalEvidence = None

    @classmethod
    def of(cls, hit: Hit) -> "Result":
        """Convert a search hit of the engine."""
        return cls.model_validate(
            {
                "chunk_id": hit.record.id,
                "text": hit.record.text,
                "relevance_score": hit.score,
                "match": WordMatch.of(hit),
                "merged": MergedChunks.of(hit),
                **hit.record.metadata,
            }
        )


class QueryResults(BaseModel):
    """What one query found, best first."""

    query: str
    results_count: int
    results: list[Result]


class Found(QueryResults):
    """What a search found, best first."""

    status: Literal["success"] = "success"
    effective_date: str | None
    truncated: bool = Field(
        default=False,
        description="Addition: true when the best results were kept and the rest left out, "
        "because together they would be larger than a client can take.",
    )
    more: list[QueryResults] | None = Field(
        default=None, description="Addition: what each of `more_queries` found, in their order."
    )
    warning: FilterWarning = ""


class Section(BaseModel):
    """The text of a section, whole, in document order."""

    status: Literal["success"] = "success"
    source: str
    section_ref: str
    revision_id: str
    version_label: str
    text: str
    page_numbers: list[int]
    next_part: int | None = Field(
        default=None,
        description="Addition: when the section is larger than a client can take, the `from_part` "
        "of the call that goes on from here; null when this is the end.",
    )
    hidden_text: HiddenText = False
    evidence: OptionalEvidence = None
    comparison: SectionComparison | None = Field(
        default=None,
        exclude_if=_is_missing,
        description="Addition, with `compare_with` only: what changed between the revisions.",
    )


class PolicyEntry(BaseModel):
    """One registered policy."""

    source: str
    title: str
    category: str

    @classmethod
    def of(cls, policy: Policy) -> "PolicyEntry":
        """Convert a policy of the registry."""
        return cls(source=policy.source, title=policy.title, category=str(policy.category))


class Policies(BaseModel):
    """All registered policies."""

    status: Literal["success"] = "success"
    policy_count: int
    policies: list[PolicyEntry]
    truncated: bool = Field(
        default=False,
        description="Addition: true when there are more policies than a client can take at once; "
        "`policy_count` is that of all.",
    )


class RevisionEntry(BaseModel):
    """One revision of a policy."""

    revision_id: str
    version_label: str
    effective_from: str
    effective_to: str | None
    status: str
    chunk_count: int
    draft: bool = Field(
        default=False,
        exclude_if=not_,
        description="Addition, left out where false: a draft, which is never in force. Its dates "
        "are only planned; it is searched by its `revision_id` alone.",
    )
    error: str | None = Field(
        default=None,
        exclude_if=_is_missing,
        description="Why the ingest failed, for quinion's own commands only.",
    )
    changes: RevisionChanges | None = Field(
        default=None,
        exclude_if=_is_missing,
        description="Addition, with `changes` only: what changed since the revision before.",
    )

    @classmethod
    def of(cls, revision: Revision, status: RevisionStatus) -> "RevisionEntry":
        """Convert a revision of the registry, with its status of today."""
        return cls(
            revision_id=revision.revision_id,
            version_label=revision.version_label,
            effective_from=revision.effective_from.isoformat(),
            effective_to=revision.effective_to.isoformat() if revision.effective_to else None,
            status=str(status),
            chunk_count=revision.chunk_count or 0,
            draft=revision.draft,
            error=revision.error if is_command() else None,
        )


class Revisions(BaseModel):
    """The revisions of a policy, newest first."""

    status: Literal["success"] = "success"
    source: str
    revision_count: int
    revisions: list[RevisionEntry]
    next_revision: int | None = Field(
        default=None,
        description="Addition: when the list is larger than a client can take, the "
        "`from_revision` of the call that goes on from here; null when this is the end.",
    )


class Ingested(BaseModel):
    """The revision was read, indexed and stored."""

    status: Literal["success"] = "success"
    source: str
    revision_id: str
    chunks_created: int
    page_count: int
    extraction_method: str
    warnings: Warnings = []


class Removed(BaseModel):
    """The revision's chunks are gone."""

    status: Literal["success"] = "success"
    source: str
    revision_id: str
    chunks_removed: int


class Compared(BaseModel):
    """Two revisions, compared by section, for `quinion policy diff`."""

    status: Literal["success"] = "success"
    source: str
    before: NamedRevision
    after: NamedRevision
    rows: list[Row]
    next_row: int | None


class OutlinedSection(BaseModel):
    """A section in an outline: its reference, its depth from 1 on and its first page."""

    ref: str
    depth: int
    page: int


class Outline(NamedRevision):
    """The sections of a revision in document order, as many as fit."""

    status: Literal["success"] = "success"
    sections: list[OutlinedSection]


class Followed(BaseModel):
    """The dates on stored texts are those of the registry."""

    status: Literal["success"] = "success"


SearchAnswer = Answer[Annotated[Found | Failed, Field(discriminator="status")]]
SectionAnswer = Answer[Annotated[Section | Failed, Field(discriminator="status")]]
PoliciesAnswer = Answer[Annotated[Policies | Failed, Field(discriminator="status")]]
RevisionsAnswer = Answer[Annotated[Revisions | Failed, Field(discriminator="status")]]
IngestAnswer = Answer[Annotated[Ingested | Failed, Field(discriminator="status")]]
RemoveAnswer = Answer[Annotated[Removed | Failed, Field(discriminator="status")]]
CompareAnswer = Answer[Annotated[Compared | Failed, Field(discriminator="status")]]
FollowAnswer = Answer[Annotated[Followed | Failed, Field(discriminator="status")]]
