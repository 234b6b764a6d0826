"""Section splitter: lines to sections to chunks that never cross a section boundary.

The document's text is its lines joined by line breaks, across page breaks too. Each line is in
exactly one section, except running headers, footers and page numbers, which are in none. A
section's text is the text of its spans joined by line breaks; it starts with its heading or
number. Subsections (the paragraphs of a chapter) are separate sections, whose `path` includes the
enclosing ones.

The text before the first heading, and the large print of the first page, is `Front matter`.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from quinion.chunk.bare_headings import is_bare_heading
from quinion.chunk.recursive import STANDARD, Sizes, split
from quinion.chunk.sections.contents import find_contents
from quinion.chunk.sections.footnotes import Note, find_notes
from quinion.chunk.sections.headers_footers import find_furniture
from quinion.chunk.sections.heading_candidates import DocumentLines, Mark
from quinion.chunk.sections.labels import find_labelled
from quinion.chunk.sections.numbered import find_inner, find_numbered
from quinion.chunk.sections.scanned import settle
from quinion.chunk.sections.tree import LEAVES, Node, Tree, name_chapters
from quinion.chunk.sections.typography import Typography, measure
from quinion.chunk.sections.uncertain import cite_by_page
from quinion.chunk.sections.unnumbered import find_headings
from quinion.model.line import Line
from quinion.model.page import PageSpan, cut_spans, join_spans, without_spaces
from quinion.model.section import CAPTIONED, Kind, Section, SectionChunk, Span

# After a table, a line of this length that is aligned with the caption is body text again.
_PROSE_LINE = 60
_ALIGNED = 4.0

LINE_BREAK = "\n"


def document_text(lines: Sequence[Line]) -> str:
    """Join the lines to the text that the spans of sections refer to."""
    return LINE_BREAK.join(line.text for line in lines)


def find_sections(lines: Sequence[Line]) -> list[Section]:
    """Find the sections of a document, in document order, from the lines of all its pages."""
    outline = _read_outline(lines)
    nodes = [node for node in _build(lines, outline).nodes if node.lines]
    refs = _name(nodes)
    text = document_text(lines)
    starts = _starts(lines)
    sections = []
    for index, node in enumerate(nodes):
        spans = tuple(_spans(lines, starts, node.lines))
        sections.append(
            Section(
                index=index,
                kind=node.kind,
                ref=refs[node],
                title=node.mark.title,
                path=_path(node, refs),
                spans=spans,
                pages=tuple(sorted({lines[line].page_number for line in node.lines})),
                text=LINE_BREAK.join(text[start:end] for start, end in spans),
                is_heading=_is_heading(node),
            )
        )
    return sections


def chunk_sections(lines: Sequence[Line], sizes: Sizes = STANDARD) -> list[SectionChunk]:
    """Split each section separately; a short section is one chunk.

    A chunk of a bare heading also has the text below it.
    """
    starts = _starts(lines)
    chunks: list[SectionChunk] = []
    sections = find_sections(lines)
    for section in sections:
        for start, end in split(section.text, sizes):
            chunks.append(
                SectionChunk(
                    index=len(chunks),
                    text=section.text[start:end],
                    ref=section.ref,
                    path=section.path,
                    pages=_pages(lines, starts, section.spans, (start, end)),
                    section_index=section.index,
                    start=start,
                    end=end,
                    page_spans=_page_spans(lines, starts, section.spans, (start, end)),
                )
            )
    return _add_text_below(chunks, sections, sizes)


@dataclass(frozen=True, slots=True)
class _Outline:
    """Classification of the lines: marks, contents, footnotes and furniture."""

    typography: Typography
    furniture: frozenset[int]
    contents: frozenset[int]
    notes: dict[int, Note]
    marks: dict[int, list[Mark]]
    is_numbered: bool


def _read_outline(lines: Sequence[Line]) -> _Outline:
    lines = settle(lines)
    furniture = find_furniture(lines)
    typography = measure([line for index, line in enumerate(lines) if index not in furniture])
    contents = find_contents(lines, furniture)
    notes = {
        line: note
        for note in find_notes(lines, furniture | contents.lines, typography)
        for line in note.lines
    }
    free = [i for i in range(len(lines)) if i not in furniture | contents.lines and i not in notes]
    document = DocumentLines(lines, free, typography, contents)
    marks, repeats = find_labelled(document)
    marks += find_numbered(document, {mark.first for mark in marks} | repeats)
    marks.sort(key=lambda mark: mark.first)
    marks += find_inner(document, marks)
    marks += find_headings(document, marks, repeats)
    marks = name_chapters(sorted(marks, key=lambda mark: mark.first))
    marks = cite_by_page(document, marks)
    by_line: dict[int, list[Mark]] = {}
    for mark in marks:
        by_line.setdefault(mark.first, []).append(mark)
    is_numbered = any(mark.kind is Kind.PARA for mark in marks)
    return _Outline(typography, furniture, contents.lines, notes, by_line, is_numbered)


def _build(lines: Sequence[Line], outline: _Outline) -> Tree:
    tree = Tree([mark for marks in outline.marks.values() for mark in marks])
    notes: dict[int, Node] = {}
    heading_ends = -1
    for index, line in enumerate(lines):
        if index in outline.furniture:
            continue
        note = outline.notes.get(index)
        if note is not None:
            if id(note) not in notes:
                mark = Mark(Kind.FOOTNOTE, index, index, str(note.number), "")
                notes[id(note)] = tree.beside(mark)
            notes[id(note)].lines.append(index)
            continue
        for mark in outline.marks.get(index, ()):
            if not _is_table_head(tree.here, mark, lines, outline):
                tree.open(mark)
                heading_ends = max(heading_ends, mark.last)
        _ensure_open(tree, index, line, outline, heading_ends)
        assert tree.here is not None
        tree.here.lines.append(index)
    return tree


def _ensure_open(tree: Tree, index: int, line: Line, outline: _Outline, heading_ends: int) -> None:
    """Ensure that the section for this line is open."""
    here = tree.here
    if index in outline.contents:
        only_heading = here is not None and index == heading_ends + 1 and here.kind is Kind.HEADING
        if not only_heading and (here is None or here.lines[-1] not in outline.contents):
            tree.open(Mark(Kind.CONTENTS, index, index, "", ""))
    elif here is not None and index > heading_ends and _has_ended(here, line, outline):
        tree.close()
    if tree.here is None:
        tree.open(Mark(Kind.FRONT, index, index, "", ""))


def _has_ended(here: Node, line: Line, outline: _Outline) -> bool:
    """Check whether a figure or table has ended without a new mark.

    A figure is only its caption. A table extends to the next mark if paragraphs are numbered, else
    to the first line of body text.
    """
    if here.kind not in CAPTIONED:
        return False
    if here.kind in {Kind.FIGURE, Kind.MAP}:
        return True
    return not outline.is_numbered and _is_prose(line, here, outline)


def _is_prose(line: Line, here: Node, outline: _Outline) -> bool:
    """Check that the line is body text and not in the current table."""
    return (
        line.box is not None
        and len(line.text) >= _PROSE_LINE
        and not outline.typography.stands_out(line)
        and not outline.typography.is_small(line)
        and abs(line.box[0] - here.mark.left) < _ALIGNED
    )


def _is_table_head(here: Node | None, mark: Mark, lines: Sequence[Line], outline: _Outline) -> bool:
    """Check whether an apparent heading is the first row of a table.

    A heading is followed by another mark or by body text.
    """
    if here is None or here.kind not in CAPTIONED or mark.kind is not Kind.HEADING:
        return False
    after = mark.last + 1
    while after in outline.marks and outline.marks[after][0].kind is Kind.HEADING:
        after = outline.marks[after][0].last + 1
    if outline.typography.is_large(lines[mark.first]) or after == len(lines):
        return False
    return after not in outline.marks and not _is_prose(lines[after], here, outline)


def _is_heading(node: Node) -> bool:
    """Check that the section has no lines but its heading."""
    return node.kind not in LEAVES | {Kind.PARA} and node.lines[-1] <= node.mark.last


def _name(nodes: Sequence[Node]) -> dict[Node, str]:
    """Compute the reference of each node, and of its ancestors without lines."""
    refs: dict[Node, str] = {}
    labels = Counter(_label(node) for node in nodes)
    for node in nodes:
        for one in reversed(list(_ancestors(node))):
            if one not in refs:
                refs[one] = _label(one)
                ambiguous = one.kind is Kind.FOOTNOTE and labels[_label(one)] > 1
                if (one.mark.inner or ambiguous) and one.parent is not None:
                    refs[one] = f"{refs[_owner(one)]} {refs[one]}"
    return refs


def _label(node: Node) -> str:
    if node.kind is Kind.HEADING:
        return node.mark.title
    return f"{node.kind} {node.mark.name}".strip()


def _owner(node: Node) -> Node:
    """Return the nearest enclosing section with a number or a label."""
    around = list(_ancestors(node))[1:]
    labelled = [one for one in around if one.kind is not Kind.HEADING and one.kind not in LEAVES]
    return (labelled or around)[0]


def _ancestors(node: Node) -> Iterator[Node]:
    one: Node | None = node
    while one is not None:
        yield one
        one = one.parent


def _path(node: Node, refs: dict[Node, str]) -> tuple[str, ...]:
    return tuple(refs[one] for one in _ancestors(node))[::-1]


def _starts(lines: Sequence[Line]) -> list[int]:
    """Return the offset of each line in the document's text."""
    return list(accumulate((len(line.text) + 1 for line in lines), initial=0))


def _spans(lines: Sequence[Line], starts: Sequence[int], own: Sequence[int]) -> Iterator[Span]:
    first = last = own[0]
    for index in own[1:]:
        if index != last + 1:
            yield starts[first], starts[last] + len(lines[last].text)
            first = index
        last = index
    yield starts[first], starts[last] + len(lines[last].text)


def _pages(
    lines: Sequence[Line], starts: Sequence[int], spans: Sequence[Span], part: Span
) -> tuple[int, ...]:
    """Return the pages of a part of a section's text."""
    pages: set[int] = set()
    for first, end in _parts(spans, part):
        here = range(bisect_right(starts, first) - 1, bisect_right(starts, end - 1))
        pages.update(lines[index].page_number for index in here)
    return tuple(sorted(pages))


def _page_spans(
    lines: Sequence[Line], starts: Sequence[int], spans: Sequence[Span], part: Span
) -> tuple[PageSpan, ...]:
    """Return the parts of pages that a part of a section's text consists of, in its order."""
    found: list[PageSpan] = []
    for first, end in _parts(spans, part):
        for index in range(bisect_right(starts, first) - 1, bisect_right(starts, end - 1)):
            line, start = lines[index], starts[index]
            head = len(without_spaces(line.text[: max(0, first - start)]))
            tail = len(without_spaces(line.text[: end - start]))
            found += cut_spans(
                (PageSpan(line.page_number, *place) for place in line.places), head, tail
            )
    return join_spans(found)


def _parts(spans: Sequence[Span], part: Span) -> Iterator[Span]:
    """Yield the parts of the document's text that a part of a section's text consists of."""
    offset = 0
    for start, end in spans:
        first = start + max(0, part[0] - offset)
        last = start + min(end - start, part[1] - offset)
        if first < last:
            yield first, last
        offset += end - start + 1


def _add_text_below(
    chunks: Sequence[SectionChunk], sections: Sequence[Section], sizes: Sizes
) -> list[SectionChunk]:
    """Give each chunk of a bare heading the text below it, to be embedded and found with it.

    So are a caption, a row and other sections of a few words. A reference to them still returns
    their own words only. Footnotes stay as they are, and are passed over: they stand between a
    heading at the foot of a page and its text.
    """
    result = list(chunks)
    below: list[SectionChunk] = []
    for chunk in reversed(chunks):
        section = sections[chunk.section_index]
        if section.kind is Kind.FOOTNOTE:
            continue
        if section.is_heading or is_bare_heading(chunk.text):
            result[chunk.index] = _with_text_below(chunk, below, sizes.size)
            below = [chunk, *below[: sizes.size]]
        else:
            below = [chunk]
    return result


def _with_text_below(chunk: SectionChunk, below: Sequence[SectionChunk], size: int) -> SectionChunk:
    """Append the chunks below, up to the first that is no heading, cut to the size."""
    parts: list[str] = []
    page_spans = list(chunk.page_spans)
    pages = set(chunk.pages)
    room = size - len(chunk.text)
    for other in below:
        room -= len(LINE_BREAK)
        overlaps = other.section_index == chunk.section_index and other.start < chunk.end
        spans = split(other.text, Sizes(room, 0)) if room > 0 and not overlaps else []
        if not spans:
            break
        start, end = spans[0]
        parts.append(other.text[start:end])
        cut = (len(without_spaces(other.text[:offset])) for offset in (start, end))
        page_spans += cut_spans(other.page_spans, *cut)
        pages.update(other.pages)
        room -= end - start
    return replace(
        chunk,
        below=LINE_BREAK.join(parts),
        below_pages=tuple(sorted(pages)),
        page_spans=join_spans(page_spans),
    )
