"""Page numbers and running headers in the text of pages, without their positions.

`sections.headers_footers` finds them more exactly, but needs lines with their boxes. Here a line
counts as such if it is a page number, or if it is at the edge of several pages that have more text,
with no other difference than its digits, and nowhere within a page.
"""

import re
from collections import Counter
from collections.abc import Sequence, Set

from quinion.model.page import Page

EDGE_LINES = 3
MIN_PAGES = 3
MAX_CHARACTERS = 100
_PAGE_NUMBER = re.compile(
    r"(?:page|p\.?)?\s*[-–—|]?\s*(?:\d{1,4}|[ivxl]{1,6})\s*[-–—|]?\s*(?:(?:of|/)\s*\d{1,4})?",
    re.IGNORECASE,
)


def find_running_lines(pages: Sequence[Page]) -> Set[str]:
    """Return the normalized lines that are at the edge of at least three pages with more text.

    Pages without further lines do not count: what they repeat may be their content. So may a line
    that is also within a page.
    """
    counts: Counter[str] = Counter()
    within: set[str] = set()
    for page in pages:
        lines = [_normalize(line) for line in _lines(page.text)]
        if len(lines) <= 2 * EDGE_LINES:
            continue
        counts.update({*lines[:EDGE_LINES], *lines[-EDGE_LINES:]})
        within.update(lines[EDGE_LINES:-EDGE_LINES])
    return {line for line, count in counts.items() if count >= MIN_PAGES} - within


def is_page_number(text: str) -> bool:
    """Whether a text is nothing but a page number."""
    return bool(_PAGE_NUMBER.fullmatch(text.strip()))


def is_furniture(text: str, running: Set[str]) -> bool:
    """Whether the text has no lines but page numbers and running headers, and few of them."""
    lines = _lines(text)
    return len(lines) <= EDGE_LINES and all(_is_furniture(line, running) for line in lines)


def _is_furniture(line: str, running: Set[str]) -> bool:
    if is_page_number(line):
        return True
    return len(line) <= MAX_CHARACTERS and _normalize(line) in running


def _lines(text: str) -> list[str]:
    return [line for one in text.splitlines() if (line := one.strip())]


def _normalize(line: str) -> str:
    return " ".join(re.sub(r"\d+", "#", line).casefold().split()).strip("# ")
