"""Outline of Python code: its classes and functions, and the cuts between statements.

All positions are line numbers, which agree with `ast`: a line ends with a line feed. Columns are
used for indentation only, because `ast` counts them in bytes.
"""

import ast
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True, eq=False)
class Scope:
    """A class, a function or the module, with its lines (1-based).

    Its lines include decorators, comments directly above it, and comments at its end that are
    indented deeper. `header` is the line of its `class` or `def`, `body` that of its first
    statement.
    """

    node: ast.Module | _Definition
    outer: "Scope | None"
    first: int
    header: int
    body: int
    last: int
    inner: "list[Scope]" = field(default_factory=list)

    @property
    def is_function(self) -> bool:
        return isinstance(self.node, ast.FunctionDef | ast.AsyncFunctionDef)

    @property
    def name(self) -> str:
        return "" if isinstance(self.node, ast.Module) else self.node.name

    @property
    def path(self) -> "list[Scope]":
        """The enclosing classes and functions, outermost first, and this one."""
        return [] if self.outer is None else [*self.outer.path, self]

    def innermost(self, first: int, last: int) -> "Scope":
        """Return the innermost scope, at or below this one, that contains all these lines."""
        index = bisect_right(self.inner, first, key=lambda scope: scope.first) - 1
        if index < 0 or self.inner[index].last < last:
            return self
        return self.inner[index].innermost(first, last)


@dataclass(frozen=True, slots=True)
class CodeOutline:
    """The module's scopes, the first lines of its simple statements, and its cuts.

    `cuts` has the lines before which the module may be cut, ascending, with their nesting depth.
    """

    module: Scope
    statements: list[int]
    cuts: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Block:
    """Statements of one suite. `after` is the last line of the suite before it.

    It is None for a statement's first suite, which is not separated from its header.
    """

    statements: Sequence[ast.stmt]
    scope: Scope
    depth: int
    after: int | None


def read_outline(text: str) -> CodeOutline:
    """Parse the text.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the text is not valid Python of
            this version, or too large for the parser.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the file, e.g. invalid escapes such as "\d"
        tree = ast.parse(text)
    return _Reader(text.split("\n")).read(tree)


class _Reader:
    """Reads all suites with an explicit stack: some modules are nested too deep to recurse."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._blocks: list[_Block] = []
        self._scopes: list[Scope] = []
        self._statements: list[int] = []
        self._depths: dict[int, int] = {}

    def read(self, tree: ast.Module) -> CodeOutline:
        module = Scope(tree, None, 1, 0, 0, len(self._lines))
        self._scopes.append(module)
        self._blocks.append(_Block(tree.body, module, 0, None))
        while self._blocks:
            self._read_block(self._blocks.pop())
        for scope in self._scopes:
            scope.inner.sort(key=lambda inner: inner.first)
        return CodeOutline(module, sorted(self._statements), sorted(self._depths.items()))

    def _read_block(self, block: _Block) -> None:
        after = block.after
        for statement in block.statements:
            first = _first_line(statement)
            if after is not None and after < first:
                self._depths.setdefault(after + 1, block.depth)
            if isinstance(statement, _Definition):
                scope = self._open_scope(statement, first, after or 0, block.scope)
                self._blocks.append(_Block(statement.body, scope, block.depth + 1, None))
                after = scope.last
            else:
                self._read_statement(statement, block)
                after = _last_line(statement)

    def _open_scope(self, node: _Definition, first: int, after: int, outer: Scope) -> Scope:
        indent = node.col_offset
        while first - 1 > after and self._comment_indent(first - 1) == indent:
            first -= 1
        last = _last_line(node)
        for line in range(last + 1, len(self._lines) + 1):
            if not self._lines[line - 1].strip() and line == last + 1:
                continue
            if self._comment_indent(line) <= indent:
                break
            last = line
        scope = Scope(node, outer, first, node.lineno, _first_line(node.body[0]), last)
        outer.inner.append(scope)
        self._scopes.append(scope)
        return scope

    def _comment_indent(self, line: int) -> int:
        """Return the indentation of a comment line; -1 for any other line."""
        text = self._lines[line - 1]
        bare = text.lstrip()
        return len(text) - len(bare) if bare.startswith("#") else -1

    def _read_statement(self, statement: ast.stmt, block: _Block) -> None:
        suites = [suite for suite in _suites(statement) if suite]
        if not suites:
            self._statements.append(statement.lineno)
        after = None
        for suite in suites:
            self._blocks.append(_Block(suite, block.scope, block.depth + 1, after))
            after = _last_line(suite[-1])


def _suites(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the suites of a compound statement, in order, including those of `elif`."""
    if isinstance(statement, ast.Match):
        yield from (case.body for case in statement.cases)
        return
    yield getattr(statement, "body", [])
    yield from (handler.body for handler in getattr(statement, "handlers", []))
    rest: list[ast.stmt] = getattr(statement, "orelse", [])
    while len(rest) == 1 and isinstance(rest[0], ast.If) and _is_elif(rest[0], statement):
        yield rest[0].body
        rest = rest[0].orelse
    yield rest
    yield getattr(statement, "finalbody", [])


def _is_elif(inner: ast.If, outer: ast.stmt) -> bool:
    return isinstance(outer, ast.If) and inner.col_offset == outer.col_offset


def _first_line(statement: ast.stmt) -> int:
    decorators = statement.decorator_list if isinstance(statement, _Definition) else []
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _last_line(statement: ast.stmt) -> int:
    assert statement.end_lineno is not None
    return statement.end_lineno
