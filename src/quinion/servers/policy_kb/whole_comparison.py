"""Whole comparisons of two revisions: rows for `quinion policy diff`, Markdown for the resource."""

import re
from collections.abc import Iterator, Sequence

from quinion.chunk.sections.references import select
from quinion.errors import InvalidInput, SectionMissing
from quinion.ingest.policies import KnowledgeBase
from quinion.ingest.policy_comparison import compare_texts
from quinion.model.comparison import Change, Comparison, Flag, Row, sections_of
from quinion.model.marked_text import Mark, Piece, mark_both
from quinion.model.policy import Revision
from quinion.servers.policy_kb.answers import Compared
from quinion.servers.policy_kb.changes import NamedRevision, find_root
from quinion.servers.policy_kb.lookup import find_pair
from quinion.servers.response_size import how_many_fit

# An underscore between letters or digits is no mark.
_MARKDOWN = re.compile(r"([\\`*~<>\[\]#|]|(?<![^\W_])_|_(?![^\W_]))")
_MARKS = {Mark.SAME: "{}", Mark.REMOVED: "~~{}~~", Mark.ADDED: "**{}**"}
_EDGES = re.compile(r"^(\s*)(.*?)(\s*)$", re.DOTALL)


async def compare_revisions(
    knowledge: KnowledgeBase,
    source: str,
    before: str | None,
    after: str | None,
    section_ref: str | None,
    from_row: int,
) -> Compared:
    """Compare two revisions, or one section of them, as many rows as fit into one answer.

    Raises:
        PolicyMissing, RevisionMissing: there is no such policy or revision.
        InvalidInput, InvalidDate: both are the same, or a name is neither an id nor a date.
        SectionMissing: a revision has no text, or neither has the section.
    """
    revisions = await find_pair(knowledge, source, before, after)
    comparison = await compare_texts(knowledge, *revisions)
    rows = _select(comparison, section_ref, revisions)[from_row:]
    count = max(1, how_many_fit(rows))
    return Compared(
        source=source,
        before=NamedRevision.of(revisions[0]),
        after=NamedRevision.of(revisions[1]),
        rows=rows[:count],
        next_row=from_row + count if count < len(rows) else None,
    )


def _select(
    comparison: Comparison, section_ref: str | None, revisions: Sequence[Revision]
) -> list[Row]:
    """Return all rows, or those of a section of the later revision, or else of the earlier one."""
    if section_ref is None:
        return list(comparison.rows)
    sides = sections_of(comparison.rows)
    for later in (True, False):
        if found := select(sides[later], section_ref):
            return comparison.list_within(find_root(found), later=later)
    names = " nor ".join(one.revision_id for one in revisions)
    raise SectionMissing(
        f"There is no section {section_ref!r} in {names}, or it can mean several sections."
    )


async def write_comparison(
    knowledge: KnowledgeBase, source: str, before: str, after: str, from_part: int
) -> tuple[str, int | None]:
    """Write a comparison as Markdown, as much as fits; returns the next part too.

    Raises: the same errors as `compare_revisions`.
    """
    revisions = await find_pair(knowledge, source, before, after)
    comparison = await compare_texts(knowledge, *revisions)
    parts = list(_format(comparison, *revisions))
    if from_part >= len(parts):
        raise InvalidInput(f"from_part is {from_part}, but the comparison has {len(parts)} parts.")
    rest = parts[from_part:]
    count = max(1, how_many_fit(rest))
    return "\n\n".join(rest[:count]), from_part + count if count < len(rest) else None


def _format(comparison: Comparison, before: Revision, after: Revision) -> Iterator[str]:
    """Yield the summary and each changed section."""
    counts = "\n".join(f"| {change} | {count} |" for change, count in comparison.counts.items())
    yield "\n".join(
        [
            f"# What changed in {before.source}",
            "",
            f"From {_name(before)} to {_name(after)}. {comparison.changed_share:.1%} of the text "
            "was added, removed or replaced. Removed words are ~~struck out~~, added ones are "
            "**bold**.",
            "",
            "| change | sections |",
            "|---|---|",
            counts,
            f"| with other words | {comparison.reworded} |",
        ]
    )
    for row in comparison.changed:
        yield "\n\n".join([f"## {_escape(row.refs)}", _describe(row), _format_text(row)])


def _name(revision: Revision) -> str:
    label = _escape(revision.version_label)
    when = "a draft, planned" if revision.draft else "in force"
    return f"{label} ({revision.revision_id}, {when} {revision.period})"


def _describe(row: Row) -> str:
    words = [row.change.capitalize()]
    if row.is_reworded and row.change is not Change.REWORDED:
        words.append("reworded")
    words += [_FLAGS[flag] for flag in row.flags]
    pages = " → ".join(
        ", ".join(map(str, sorted({page for one in side for page in one.pages})))
        for side in (row.before, row.after)
        if side
    )
    return f"{', '.join(words)}. Page {pages}."


_FLAGS = {
    Flag.NUMBER: "a number changed",
    Flag.DATE: "a date changed",
    Flag.OBLIGATION: "an obligation changed",
}


def _format_text(row: Row) -> str:
    if not row.before or not row.after:
        return "> " + _escape(" ".join((row.text_before or row.text_after).split()))
    if not row.is_reworded:
        return "The words are the same."
    return "> " + "".join(map(_format_piece, mark_both(row)))


def _format_piece(piece: Piece) -> str:
    """Format a piece on one line; Markdown wants no spaces inside its marks."""
    edges = _EDGES.match(piece.text)
    assert edges is not None
    left, text, right = edges.groups()
    if not text:
        return " "
    marked = _MARKS[piece.mark].format(_escape(" ".join(text.split())))
    return f"{' ' * bool(left)}{marked}{' ' * bool(right)}"


def _escape(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)
