"""Python splitter: chunks never cross from one function into another.

Each function and method gets its own chunks, and so does the code between them, in a class (header,
docstring and attributes) or in the module. Fragments without meaning on their own join the next
definition: a class's bare header, an `else:`, a comment line. Consecutive definitions of the same
name, such as overloads and properties, may share a chunk.

Files that cannot be parsed, or are too long to be code, are split by lines like plain text.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from quinion.chunk.code_outline import CodeOutline, Scope, read_outline
from quinion.chunk.headings import HEADING_SHARE, fit_heading
from quinion.chunk.line_numbers import LineCounter, line_starts
from quinion.chunk.splitter import BY_LINES, CutPositions, Level, split_span
from quinion.chunk.text import split_text
from quinion.chunk.token_offsets import Measure, Span, TokenOffsets
from quinion.model.chunk import FileChunk

MAX_PARSED = 2_000_000
"""Longest file that is parsed, in characters. Longer files are data tables, whose parsing takes
300 times their length in memory. The longest module of the standard library has 760,000."""


def split_code(text: str, measure: Measure, size: int) -> list[FileChunk]:
    """Split Python into chunks of at most `size` tokens, heading included."""
    if len(text) > MAX_PARSED:
        return split_text(text, measure, size)
    try:
        outline = read_outline(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return split_text(text, measure, size)
    return list(_Splitter(text, outline, measure, size).chunks())


@dataclass(frozen=True, slots=True)
class _Region:
    """Consecutive lines of one scope, without the scopes inside it."""

    first: int
    last: int
    scope: Scope


class _Splitter:
    def __init__(self, text: str, outline: CodeOutline, measure: Measure, size: int) -> None:
        self._text = text
        self._outline = outline
        self._measure = measure
        self._size = size
        self._offsets = TokenOffsets(text, measure)
        self._starts = line_starts(text)
        self._lines = LineCounter(text)

    def chunks(self) -> Iterator[FileChunk]:
        for region in self._join(_regions(self._outline.module)):
            for start, end in self._split(region):
                yield self._chunk(region.scope, start, end)

    def _join(self, regions: Iterable[_Region]) -> list[_Region]:
        joined: list[_Region] = []
        for region in reversed([*regions]):
            if joined and self._joins_next(region, joined[-1]):
                joined[-1] = replace(joined[-1], first=region.first)
            else:
                joined.append(region)
        return joined[::-1]

    def _joins_next(self, region: _Region, following: _Region) -> bool:
        """Check whether a region joins the next one, which keeps its name."""
        both = self._weigh(region.first, following.last)
        if region.scope.is_function:
            limit = self._size - self._size // HEADING_SHARE
            names = _qualified_names(region.scope)
            return both <= limit and names == _qualified_names(following.scope)
        return (
            not self._has_statement(region)
            and (region.scope.outer is None or region.scope in following.scope.path)
            and self._weigh(region.first, following.scope.body - 1) <= self._size // HEADING_SHARE
            and (both <= self._size or self._weigh(following.first, following.last) > self._size)
        )

    def _has_statement(self, region: _Region) -> bool:
        statements = self._outline.statements
        index = bisect_left(statements, region.first)
        return index < len(statements) and statements[index] <= region.last

    def _split(self, region: _Region) -> Iterator[Span]:
        span = self._span(region.first, region.last)
        path = region.scope.path
        limit = self._size // HEADING_SHARE
        outer = _labels(path, region.first, region.last)
        first = self._size - fit_heading(outer, self._measure, limit)[1]
        if self._offsets.weigh(*span) <= first:
            return split_span(self._offsets, span, first)
        others = self._size - fit_heading(_labels(path), self._measure, limit)[1]
        head = self._starts[max(region.scope.body - 1, 0)]
        return split_span(self._offsets, span, others, self._levels(region), first, head)

    def _levels(self, region: _Region) -> list[Level]:
        cuts = self._outline.cuts
        within = cuts[bisect_left(cuts, (region.first,)) : bisect_left(cuts, (region.last + 1,))]
        levels: list[Level] = [
            CutPositions([self._starts[line - 1] for line, depth in within if depth <= deepest])
            for deepest in sorted({depth for _, depth in within})
        ]
        return [*levels, *BY_LINES]

    def _chunk(self, region: Scope, start: int, end: int) -> FileChunk:
        first, last = self._lines.at(start), self._lines.at(end - 1)
        tokens = self._offsets.count(start, end)
        scope = region.innermost(first, last)
        limit = min(self._size // HEADING_SHARE, self._size - tokens)
        heading, _ = fit_heading(_labels(scope.path, first, last), self._measure, limit)
        return FileChunk(
            text=self._text[start:end],
            start=start,
            end=end,
            tokens=tokens,
            heading=heading,
            metadata={**_qualified_names(scope), "start_line": first, "end_line": last},
        )

    def _weigh(self, first: int, last: int) -> int:
        return self._offsets.weigh(*self._span(first, last))

    def _span(self, first: int, last: int) -> Span:
        return self._starts[first - 1], self._starts[last]


def _regions(scope: Scope) -> Iterator[_Region]:
    """Split a scope and its inner classes into regions; a function is one region."""
    line = scope.first
    for inner in scope.inner:
        if line < inner.first:
            yield _Region(line, inner.first - 1, scope)
        if inner.is_function:
            yield _Region(inner.first, inner.last, inner)
        else:
            yield from _regions(inner)
        line = inner.last + 1
    if line <= scope.last:
        yield _Region(line, scope.last, scope)


def _qualified_names(scope: Scope) -> dict[str, str]:
    """Return the qualified names of the innermost class and of the function in it."""
    path = scope.path
    depth = max((i for i, each in enumerate(path, 1) if not each.is_function), default=0)
    names = {
        "class_name": ".".join(each.name for each in path[:depth]),
        "function_name": ".".join(each.name for each in path[depth:]),
    }
    return {key: name for key, name in names.items() if name}


def _labels(path: Sequence[Scope], first: int = 0, last: int = 0) -> list[str]:
    """Label the scopes, except those whose headers are in these lines."""
    hidden = (scope for scope in path if not first <= scope.header <= last)
    labels = []
    for is_function, scopes in groupby(hidden, lambda scope: scope.is_function):
        if is_function:
            labels += [f"def {scope.name}" for scope in scopes]
        else:
            labels.append("class " + ".".join(scope.name for scope in scopes))
    return labels
