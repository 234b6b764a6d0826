"""Checks on Markdown: those of olmOCR-bench, and two additional ones.

The rules are olmOCR-bench's for checks without a tolerance, and all checks here are of that kind:
white space and emphasis are ignored, all quotation marks are equal, all dashes are equal, and
everything else must match exactly. A `table` check requires a cell with a text beside (`left`,
`right`, `up`, `down`) or under (`top_heading`, `left_heading`) another. A `math` check requires
LaTeX; it is compared as text without blanks, whereas olmOCR-bench renders it. A `heading` check
requires a heading with this text.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

Check = Mapping[str, Any]
Table = list[list[str]]

_ALIKE = str.maketrans(
    {
        **dict.fromkeys("‘’‚", "'"),
        **dict.fromkeys("“”„", '"'),
        **dict.fromkeys("–—‑‒−", "-"),
        "＿": "_",
        "µ": "μ",
    }
)
_EMPHASIS = (r"\*\*(.*?)\*\*", r"__(.*?)__", r"\*(.*?)\*", r"_(.*?)_")
_STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def passes(check: Check, markdown: str) -> bool:
    """Whether the Markdown of a page passes the check."""
    kind = check["type"]
    if kind == "table":
        return any(_holds(check, table) for table in find_tables(markdown))
    if kind == "math":
        return _squeeze(check["math"]) in _squeeze(markdown)
    if kind == "heading":
        wanted = _fold(check["text"])
        lines = re.findall(r"^#+ (.*)$", markdown, re.MULTILINE)
        return any(wanted in _fold(line) for line in lines)
    text = normalize(markdown)
    if kind == "order":
        before, after = normalize(check["before"]), normalize(check["after"])
        return before in text and text.find(before) < text.rfind(after)
    if "last_n" in check:
        text = text[-check["last_n"] :]
    is_there = normalize(check["text"]) in text
    return is_there if kind == "present" else not is_there


def normalize(text: str) -> str:
    """Normalise a text for comparison."""
    text = re.sub(r"<br/?>", " ", text)
    text = re.sub(r"\s+", " ", text)
    for pattern in _EMPHASIS:
        text = re.sub(pattern, r"\1", text)
    text = re.sub(r"</?[bi]>", "", text)
    return unicodedata.normalize("NFC", text).translate(_ALIKE).strip()


def _fold(text: str) -> str:
    return re.sub(r"\W+", "", normalize(text)).casefold()


def _squeeze(text: str) -> str:
    return re.sub(r"[\s$]+", "", text)


def find_tables(markdown: str) -> Iterator[Table]:
    """Return all Markdown and HTML tables as rows of cells."""
    rows: Table = []
    for line in [*markdown.splitlines(), ""]:
        if line.lstrip().startswith("|"):
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            if not all(re.fullmatch(r"\s*:?-+:?\s*", cell) for cell in cells):
                rows.append([normalize(cell) for cell in cells])
        elif rows:
            yield rows
            rows = []
    if "<table" in markdown:
        parser = _HtmlTables()
        parser.feed(markdown)
        yield from parser.tables


class _HtmlTables(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self._cell = []

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None and self.tables and self.tables[-1]:
            self.tables[-1][-1].append(normalize(" ".join(self._cell)))
            self._cell = None


def _holds(check: Check, table: Table) -> bool:
    wanted = normalize(check["cell"])
    return any(
        cell == wanted and _fits(check, table, row, column)
        for row, cells in enumerate(table)
        for column, cell in enumerate(cells)
    )


def _fits(check: Check, table: Table, row: int, column: int) -> bool:
    for side, (down, across) in _STEPS.items():
        if side in check and _at(table, row + down, column + across) != normalize(check[side]):
            return False
    above = [_at(table, place, column) for place in range(row)]
    before = table[row][:column]
    return _has(check, "top_heading", above) and _has(check, "left_heading", before)


def _has(check: Check, kind: str, cells: Sequence[str | None]) -> bool:
    return kind not in check or normalize(check[kind]) in cells


def _at(table: Table, row: int, column: int) -> str | None:
    if 0 <= row < len(table) and 0 <= column < len(table[row]):
        return table[row][column]
    return None
