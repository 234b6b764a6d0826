"""Text of two revisions with the changed words marked, for Markdown, terminals and web pages."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from quinion.model.comparison import Row
from quinion.model.section import Span

# A line break of print, not one before a list item, a table row or an empty line.
_PRINT_BREAK = re.compile(r"(?<=\S{2})[^\S\n]*\n(?!\s|\(?(?:[a-z]|[ivx]+|\d+)[.)]\s|[•–-]\s)")


class Mark(StrEnum):
    """What became of a piece of text."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive characters with the same mark."""

    mark: Mark
    text: str


def mark_before(row: Row) -> list[Piece]:
    """Mark the removed words of the earlier text."""
    if not row.after:
        return [Piece(Mark.REMOVED, flow(row.text_before))]
    spans = (one.before_span for one in row.changes)
    return _mark(flow(row.text_before), spans, Mark.REMOVED)


def mark_after(row: Row) -> list[Piece]:
    """Mark the added words of the later text."""
    if not row.before:
        return [Piece(Mark.ADDED, flow(row.text_after))]
    spans = (one.after_span for one in row.changes)
    return _mark(flow(row.text_after), spans, Mark.ADDED)


def mark_both(row: Row) -> list[Piece]:
    """Return the later text with the removed words before the words that replace them."""
    if not row.after:
        return mark_before(row)
    if not row.before:
        return mark_after(row)
    return list(_interleave(row))


def flow(text: str) -> str:
    """Replace the line breaks of print by spaces; each character keeps its place."""
    return _PRINT_BREAK.sub(lambda match: " " * len(match[0]), text)


def _interleave(row: Row) -> Iterator[Piece]:
    before, after = flow(row.text_before), flow(row.text_after)
    end = 0
    for one in row.changes:
        start, stop = one.after_span
        removed, added = before[slice(*one.before_span)], after[start:stop]
        # Words that were only removed stood after the word that ends here.
        is_behind = bool(removed and start and not added)
        yield from _piece(Mark.SAME, after[end:start] + " " * is_behind)
        yield from _piece(Mark.REMOVED, removed)
        yield from _piece(Mark.SAME, " " if removed and not is_behind else "")
        yield from _piece(Mark.ADDED, added)
        end = stop
    yield from _piece(Mark.SAME, after[end:])


def _mark(text: str, spans: Iterable[Span], mark: Mark) -> list[Piece]:
    pieces: list[Piece] = []
    end = 0
    for start, stop in spans:
        pieces += _piece(Mark.SAME, text[end:start])
        pieces += _piece(mark, text[start:stop])
        end = stop
    return [*pieces, *_piece(Mark.SAME, text[end:])]


def _piece(mark: Mark, text: str) -> list[Piece]:
    return [Piece(mark, text)] if text else []
