"""Comparison of two revisions: aligned sections, what became of each, and which words differ."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from quinion.compare.alignment import Group, align
from quinion.compare.differences import Hunk, find_flags, find_hunks, merge_hunks
from quinion.compare.spelling import MISREAD_AT_LEAST, MISREAD_SHARE, looks_misread
from quinion.compare.words import WordedSection, label_of
from quinion.model.comparison import (
    SEPARATOR,
    Change,
    Comparison,
    Difference,
    Row,
    SectionText,
    join_texts,
)
from quinion.model.section import Kind, Span

Sections = Sequence[SectionText]


def compare(before: Sections, after: Sections) -> Comparison:
    """Compare the sections of two revisions, in document order on both sides.

    Every section is in exactly one row, and the comparison in the other direction has the same
    rows, mirrored.
    """
    worded = [[WordedSection.of(one) for one in side] for side in (before, after)]
    groups = _order(align(*worded))
    moves = _Chapters(before, after, groups)
    texts = [_Texts.of(group, *worded) for group in groups]
    hunks = [find_hunks(one.before, one.after) if one.both else [] for one in texts]
    misread = _find_misread(texts, hunks)
    rows = []
    for group, text, found in zip(groups, texts, hunks, strict=True):
        differences = tuple(_differences(text, found, misread))
        row = Row(Change.UNCHANGED, *_sections(group, before, after), differences)
        rows.append(replace(row, change=_classify(row, moves)))
    return Comparison(tuple(rows))


@dataclass(frozen=True, slots=True)
class _Texts:
    """Words of both sides of a group, and where they stand in the joined texts."""

    text_before: str
    text_after: str
    before: list[str]
    after: list[str]
    spans_before: list[Span]
    spans_after: list[Span]

    @classmethod
    def of(
        cls, group: Group, before: Sequence[WordedSection], after: Sequence[WordedSection]
    ) -> "_Texts":
        sides = [before[i] for i in group.before], [after[j] for j in group.after]
        (words, spans), (others, other_spans) = map(_join_words, sides)
        one, other = (join_texts(one.section for one in side) for side in sides)
        return cls(one, other, words, others, spans, other_spans)

    @property
    def both(self) -> bool:
        return bool(self.text_before and self.text_after)


class _Chapters:
    """Outermost sections of both revisions, and which of them correspond.

    They correspond if they are paired, or if most sections of each went to the other.
    """

    def __init__(self, before: Sections, after: Sections, groups: Sequence[Group]) -> None:
        shared: Counter[tuple[str, str]] = Counter()
        self._paired: set[tuple[str, str]] = set()
        for group in groups:
            for i in group.before:
                for j in group.after:
                    one, other = before[i].path, after[j].path
                    if len(one) == len(other) == 1:
                        self._paired.add((one[0], other[0]))
                    elif len(one) > 1 and len(other) > 1:
                        shared[one[0], other[0]] += 1
        self._most_before = _most_shared(shared, 0)
        self._most_after = _most_shared(shared, 1)

    def correspond(self, before: str, after: str) -> bool:
        """Check whether two outermost sections correspond."""
        if any(before == one or after == other for one, other in self._paired):
            return (before, after) in self._paired
        return self._most_before.get(before) == after and self._most_after.get(after) == before


def _most_shared(shared: Mapping[tuple[str, str], int], side: int) -> dict[str, str]:
    best: dict[str, tuple[int, str]] = {}
    for pair, count in sorted(shared.items()):
        if pair[side] not in best or count > best[pair[side]][0]:
            best[pair[side]] = count, pair[1 - side]
    return {one: other for one, (_, other) in best.items()}


def _classify(row: Row, chapters: _Chapters) -> Change:
    if not row.before:
        return Change.ADDED
    if not row.after:
        return Change.REMOVED
    if len(row.before) != len(row.after):
        return Change.SPLIT if len(row.before) == 1 else Change.MERGED
    (one,), (other,) = row.before, row.after
    inside = len(one.path) > 1 and len(other.path) > 1
    if inside and not chapters.correspond(one.path[0], other.path[0]):
        return Change.MOVED
    if _has_new_number(one.ref, other.ref):
        return Change.RENUMBERED
    return Change.REWORDED if row.is_reworded else Change.UNCHANGED


def _has_new_number(before: str, after: str) -> bool:
    """Check whether the reference changed; that of a heading is its words."""
    kinds = {label_of(before)[0], label_of(after)[0]}
    return before != after and kinds != {Kind.HEADING}


def _differences(
    text: _Texts, hunks: Sequence[Hunk], misread: set[tuple[str, str]]
) -> list[Difference]:
    found = []
    real = []
    for hunk in hunks:
        if _joined(text, hunk) in misread:
            found.append(replace(_difference(text, hunk), is_spelling=True, flags=()))
        else:
            real.append(hunk)
    found += [_difference(text, hunk) for hunk in merge_hunks(real)]
    return sorted(found, key=lambda one: (one.before_span, one.after_span))


def _difference(text: _Texts, hunk: Hunk) -> Difference:
    before_span = _span(text.spans_before, hunk.b_start, hunk.b_end)
    after_span = _span(text.spans_after, hunk.a_start, hunk.a_end)
    return Difference(
        before=text.text_before[slice(*before_span)],
        after=text.text_after[slice(*after_span)],
        before_span=before_span,
        after_span=after_span,
        flags=find_flags(
            text.before[hunk.b_start : hunk.b_end], text.after[hunk.a_start : hunk.a_end]
        ),
    )


def _span(spans: Sequence[Span], start: int, end: int) -> Span:
    """Return the characters of some words; of no words, the place after the last one."""
    if start < end:
        return spans[start][0], spans[end - 1][1]
    place = spans[start - 1][1] if start else 0
    return place, place


def _find_misread(texts: Sequence[_Texts], hunks: Sequence[Sequence[Hunk]]) -> set[tuple[str, str]]:
    """Find the replaced words that were misread, if there are enough of them."""
    vocabularies = {w for t in texts for w in t.before}, {w for t in texts for w in t.after}
    found: Counter[tuple[str, str]] = Counter()
    for text, changed in zip(texts, hunks, strict=True):
        for hunk in changed:
            one = text.before[hunk.b_start : hunk.b_end]
            other = text.after[hunk.a_start : hunk.a_end]
            if looks_misread(one, other, *vocabularies):
                found[_joined(text, hunk)] += 1
    compared = sum(len(one.before) for one in texts if one.both)
    enough = max(MISREAD_AT_LEAST, MISREAD_SHARE * compared)
    return set(found) if found.total() >= enough else set()


def _joined(text: _Texts, hunk: Hunk) -> tuple[str, str]:
    return (
        " ".join(text.before[hunk.b_start : hunk.b_end]),
        " ".join(text.after[hunk.a_start : hunk.a_end]),
    )


def _join_words(sections: Sequence[WordedSection]) -> tuple[list[str], list[Span]]:
    """Return the words of sections, with their spans in the joined text."""
    words: list[str] = []
    spans: list[Span] = []
    offset = 0
    for one in sections:
        words.extend(one.words.keys)
        spans.extend((start + offset, end + offset) for start, end in one.words.spans)
        offset += len(one.section.text) + len(SEPARATOR)
    return words, spans


def _sections(
    group: Group, before: Sections, after: Sections
) -> tuple[tuple[SectionText, ...], tuple[SectionText, ...]]:
    return tuple(before[i] for i in group.before), tuple(after[j] for j in group.after)


def _order(groups: Sequence[Group]) -> list[Group]:
    """Sort groups by the later revision; a removed section follows the one that it followed."""
    places = {i: group.after[0] for group in groups for i in group.before if group.after}
    after_of: dict[int, int] = {}
    last = -1
    for i in range(max((group.before[-1] for group in groups if group.before), default=-1) + 1):
        last = places.get(i, last)
        after_of[i] = last

    def key(group: Group) -> tuple[int, int, int]:
        if group.after:
            return group.after[0], 0, 0
        return after_of[group.before[0]], 1, group.before[0]

    return sorted(groups, key=key)
