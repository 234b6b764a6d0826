"""Nesting of sections: builds the section tree."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from quinion.chunk.sections.heading_candidates import BETWEEN, Mark
from quinion.model.section import CAPTIONED, Kind

LEAVES = CAPTIONED | {Kind.FRONT, Kind.CONTENTS, Kind.FOOTNOTE, Kind.PAGE}
_ANNEXES = frozenset({Kind.ANNEX, Kind.APPENDIX, Kind.SCHEDULE})
OUTERMOST = _ANNEXES | {Kind.PART, Kind.CHAPTER}

# Sizes that differ by less count as equal.
_SAME_SIZE = 0.2
# A heading that starts this far left of a policy is outside the policy's box.
_OUTDENT = 3.0
# A heading that starts this far right is centered, not in a box.
_CENTRED = 40.0


@dataclass(slots=True, eq=False)
class Node:
    """A section under construction."""

    mark: Mark
    parent: "Node | None" = None
    lines: list[int] = field(default_factory=list)

    @property
    def kind(self) -> Kind:
        """The kind of section."""
        return self.mark.kind


def name_chapters(marks: Sequence[Mark]) -> list[Mark]:
    """Number the heading before paragraph 5.1 as chapter 5, if no chapter has that number.

    Without a heading, the chapter starts at the paragraph and has no lines: its mark ends before
    it starts.
    """
    known = {mark.number for mark in marks if mark.kind is Kind.CHAPTER}
    result: list[Mark] = []
    for mark in marks:
        chapter = mark.number[:1]
        if mark.kind in {Kind.PARA, Kind.SECTION} and len(mark.number) > 1 and chapter not in known:
            known.add(chapter)
            _begin_chapter(result, mark, chapter[0])
        result.append(mark)
    return result


def _begin_chapter(marks: list[Mark], before: Mark, number: int) -> None:
    place = len(marks)
    while place and marks[place - 1].kind is Kind.HEADING:
        place -= 1
    headings = marks[place:]
    if not headings:
        chapter = Mark(Kind.CHAPTER, before.first, before.first - 1, str(number), "")
        marks.append(replace(chapter, number=(number,)))
        return
    largest = max(headings, key=lambda mark: mark.size)
    at = place + headings.index(largest)
    title = largest.title.removeprefix(str(number)).lstrip(BETWEEN)
    marks[at] = replace(largest, kind=Kind.CHAPTER, name=str(number), number=(number,), title=title)


class Tree:
    """Nodes in document order, and the path of open sections."""

    def __init__(self, marks: Sequence[Mark]) -> None:
        self.nodes: list[Node] = []
        self._path: list[Node] = []
        self._next = _next_numbers(marks)

    @property
    def here(self) -> Node | None:
        """The innermost open section."""
        return self._path[-1] if self._path else None

    def open(self, mark: Mark) -> Node:
        """Open a section, and close the open ones that it ends."""
        for place, node in enumerate(self._path):
            if self._closes(mark, node):
                del self._path[place:]
                break
        node = Node(mark, self.here)
        self.nodes.append(node)
        self._path.append(node)
        return node

    def close(self) -> None:
        """Close the innermost section; its ancestors stay open."""
        self._path.pop()

    def beside(self, mark: Mark) -> Node:
        """Add a section that does not interrupt the current one: a footnote."""
        around = [node for node in self._path if node.kind in OUTERMOST | {Kind.HEADING}]
        node = Node(mark, around[-1] if around else None)
        self.nodes.append(node)
        return node

    def _closes(self, mark: Mark, node: Node) -> bool:
        if node.kind in LEAVES:
            return True
        if mark.kind is Kind.PAGE:
            return node.kind is not Kind.CHAPTER or mark.number != node.mark.number
        if mark.kind in CAPTIONED:
            return False
        if node.kind is Kind.PARA or mark.kind is Kind.CONTENTS:
            return True
        if mark.kind is Kind.PARA and mark.inner:
            return False
        return _CLOSERS[node.kind](mark, node, self._next.get(mark.first, ()))


def _next_numbers(marks: Sequence[Mark]) -> dict[int, tuple[int, ...]]:
    """Map each heading to the number of the next paragraph, section or chapter."""
    upcoming: tuple[int, ...] = ()
    result: dict[int, tuple[int, ...]] = {}
    for mark in reversed(marks):
        if mark.number and not mark.inner:
            upcoming = mark.number
        elif mark.kind is Kind.HEADING:
            result[mark.first] = upcoming
        elif mark.kind not in CAPTIONED:
            upcoming = ()
    return result


def _as_large(mark: Mark, node: Node) -> bool:
    return mark.size >= node.mark.size - _SAME_SIZE


def _closes_part(mark: Mark, node: Node, _: tuple[int, ...]) -> bool:
    if mark.kind is Kind.HEADING:
        return mark.size > node.mark.size + _SAME_SIZE
    return mark.kind in _ANNEXES | {Kind.PART}


def _closes_chapter(mark: Mark, node: Node, upcoming: tuple[int, ...]) -> bool:
    """A heading of the same size also closes it, unless the next number is in the chapter."""
    if mark.kind is Kind.HEADING:
        goes_on = len(upcoming) > 1 and upcoming[:1] == node.mark.number[:1]
        return _as_large(mark, node) and node.mark.size > 0 and not goes_on
    if mark.kind in {Kind.PARA, Kind.SECTION} and len(mark.number) > 1:
        return mark.number[:1] != node.mark.number[:1]
    return mark.kind in OUTERMOST or (mark.kind is Kind.SECTION and not mark.number)


def _closes_section(mark: Mark, node: Node, upcoming: tuple[int, ...]) -> bool:
    own = node.mark.number
    if mark.kind is Kind.HEADING:
        return _as_large(mark, node) and not (own and upcoming[: len(own)] == own)
    if mark.kind in {Kind.SECTION, Kind.PARA}:
        return not (own and mark.number[: len(own)] == own)
    return mark.kind in OUTERMOST


def _closes_heading(mark: Mark, node: Node, _: tuple[int, ...]) -> bool:
    if mark.kind in {Kind.HEADING, Kind.POLICY, Kind.SECTION}:
        return _as_large(mark, node) or _is_outside(mark, node)
    if mark.kind is Kind.PARA:
        return _is_outside(mark, node)
    return mark.kind in OUTERMOST


def _is_outside(mark: Mark, node: Node) -> bool:
    """Check that the mark starts left of the node's box."""
    return _OUTDENT < node.mark.left - mark.left < _CENTRED


def _closes_policy(mark: Mark, node: Node, upcoming: tuple[int, ...]) -> bool:
    """A heading inside the policy's box does not close it: not larger, and not further left."""
    if mark.kind is Kind.HEADING:
        larger = mark.size > node.mark.size + _SAME_SIZE
        return larger or _is_outside(mark, node) or bool(upcoming)
    return True


_CLOSERS = {
    Kind.PART: _closes_part,
    Kind.CHAPTER: _closes_chapter,
    Kind.ANNEX: _closes_chapter,
    Kind.APPENDIX: _closes_chapter,
    Kind.SCHEDULE: _closes_chapter,
    Kind.SECTION: _closes_section,
    Kind.HEADING: _closes_heading,
    Kind.POLICY: _closes_policy,
}
