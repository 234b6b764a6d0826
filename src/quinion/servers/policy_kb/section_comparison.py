"""Implementation of `compare_with` of `get_policy_section`: a section and its counterpart."""

from collections.abc import Sequence

from quinion.chunk.sections.references import select
from quinion.ingest.policies import KnowledgeBase
from quinion.ingest.policy_comparison import compare_texts
from quinion.model.comparison import Change, Comparison, Row, sections_of
from quinion.model.policy import Revision
from quinion.model.section import SectionChunk
from quinion.servers.policy_kb.changes import (
    ChangedSection,
    NamedRevision,
    SectionComparison,
    count_changes,
    describe_section,
    find_root,
)
from quinion.servers.policy_kb.lookup import find_named
from quinion.servers.response_size import how_many_fit


class ComparedSection:
    """A section of a revision and the rows of its comparison with another revision."""

    def __init__(
        self, revision: Revision, other: Revision, comparison: Comparison, section_ref: str
    ) -> None:
        """`comparison` is from the earlier to the later of the two revisions."""
        self._is_later = revision.effective_from > other.effective_from
        self._revisions = (other, revision) if self._is_later else (revision, other)
        sections = sections_of(comparison.rows)[self._is_later]
        self._root = find_root(select(sections, section_ref))
        self._rows = comparison.list_within(self._root, later=self._is_later)

    def describe(self, part: Sequence[SectionChunk], *, is_first: bool) -> SectionComparison:
        """Describe the changes in a part of the section's text, as many as fit beside it."""
        earlier, later = map(NamedRevision.of, self._revisions)
        change, counterpart = describe_section(self._rows, self._root, later=self._is_later)
        changed = [
            ChangedSection.of(row, later=self._is_later)
            for row in self._list_in(part, is_first=is_first)
            if row.change is not Change.UNCHANGED
        ]
        carried = [*(chunk.text for chunk in part), *changed]
        kept = changed[: max(0, how_many_fit(carried) - len(part))]
        return SectionComparison(
            earlier=earlier,
            later=later,
            change=change,
            counterpart=counterpart,
            counts=count_changes(Comparison(tuple(self._rows))),
            changed=kept,
            truncated=len(kept) < len(changed),
        )

    def _list_in(self, part: Sequence[SectionChunk], *, is_first: bool) -> list[Row]:
        """List the rows of the part's sections. One without such a section follows the one before.

        So that of each side every section is in some part.
        """
        paths = {chunk.path for chunk in part}
        found = []
        is_inside = is_first
        for row in self._rows:
            if here := row.after if self._is_later else row.before:
                is_inside = any(one.path in paths for one in here)
            if is_inside:
                found.append(row)
        return found


async def compare_section(
    knowledge: KnowledgeBase, revision: Revision, section_ref: str, compare_with: str
) -> ComparedSection:
    """Compare a section with another revision, named by its id or by a day it was in force.

    Raises:
        InvalidInput, InvalidDate: the other revision is the same, or no id and no date.
        RevisionMissing, SectionMissing: it does not exist or has no text.
    """
    other = await find_named(knowledge, revision.source, compare_with)
    earlier, later = sorted((revision, other), key=lambda one: one.effective_from)
    comparison = await compare_texts(knowledge, earlier, later)
    return ComparedSection(revision, other, comparison, section_ref)
