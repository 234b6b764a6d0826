"""Tables of contents and lists of policies.

Their lines look like headings but start no sections. They are also the strongest evidence for
headings: a line elsewhere with the text of an entry is that heading.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quinion.chunk.sections.numbering import best_chain
from quinion.model.line import Line

# Lines above the first entry that belong to the list: its title and that of its first group.
_TITLE_LINES = 3
# Minimum of entries in ascending order, and their minimum share of the lines of the list.
_FEWEST_ENTRIES = 4
_ENTRY_SHARE = 0.4
# Printed page numbers exceed the page index by at most this.
_NUMBERS_AHEAD = 30
# A table of contents is among the first pages: this many, or this share of all.
_FRONT_PAGES = 12
_FRONT_SHARE = 0.1

_ENTRY = re.compile(r"(?P<title>.*?)(?:^|[\s.·…_]+)(?P<page>[1-9]\d{0,2})")
_LEADER = re.compile(r"(?:[.·…_]\s?){4,}")
_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*\.?|[A-Z]{1,4}\s?\d+(?:\.\d+)?:?)\s+")


@dataclass(frozen=True, slots=True)
class Contents:
    """Line indices of the tables of contents, and the titles of their entries.

    `titles` has each title with its number and without, normalized by `fold`.
    """

    lines: frozenset[int]
    titles: frozenset[str]

    def names(self, text: str) -> bool:
        """Check that an entry has this text."""
        return fold(text) in self.titles


def fold(text: str) -> str:
    """Reduce a text to its letters and digits, case-folded, to compare titles."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def find_contents(lines: Sequence[Line], furniture: frozenset[int]) -> Contents:
    """Find the tables of contents."""
    pages: dict[int, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        if index not in furniture:
            pages[line.page_number].append(index)
    last_page = lines[-1].page_number if lines else 0
    front = max(_FRONT_PAGES, _FRONT_SHARE * last_page)
    found: set[int] = set()
    titles: set[str] = set()
    for number, page in pages.items():
        if number > front:
            break
        for run in _runs(lines, page, last_page + _NUMBERS_AHEAD):
            found.update(run)
            titles.update(_titles(lines, run))
    return Contents(frozenset(found), frozenset(titles))


def _runs(lines: Sequence[Line], page: Sequence[int], last_number: int) -> Iterator[Sequence[int]]:
    """Yield the lists on a page: a table of contents, then perhaps a list of policies."""
    run = _run(lines, page, last_number)
    if run:
        yield run
        start = page.index(run[0])
        yield from _runs(lines, page[:start], last_number)
        yield from _runs(lines, page[start + len(run) :], last_number)


def _run(lines: Sequence[Line], page: Sequence[int], last_number: int) -> Sequence[int]:
    """Return the page's lines from the first entry to the last, if they form a list."""
    entries = [
        (place, (int(match["page"]),))
        for place, index in enumerate(page)
        if (match := _ENTRY.fullmatch(lines[index].text)) and int(match["page"]) <= last_number
    ]
    # Two entries may have the same page number, so the position breaks the tie.
    chain = best_chain([(*number, place) for place, number in entries], strict=False)
    if len(chain) < _FEWEST_ENTRIES:
        return ()
    first, last = entries[chain[0]][0], entries[chain[-1]][0]
    run = page[first if first > _TITLE_LINES else 0 : last + 1]
    if len(chain) < _ENTRY_SHARE * len(run):
        return ()
    if _reads_as_table(lines, [page[entries[place][0]] for place in chain]):
        return ()
    return run


def _reads_as_table(lines: Sequence[Line], entries: Sequence[int]) -> bool:
    """Check whether the entries are rows of figures: contents have words and one number each."""
    wordless = 0
    for index in entries:
        title = _LEADER.sub("", lines[index].text)
        letters = sum(letter.isalpha() for letter in title)
        wordless += letters < len(title) / 2
    return wordless > len(entries) / 2


def _titles(lines: Sequence[Line], run: Sequence[int]) -> Iterator[str]:
    """Yield the titles of the entries; a title on two lines is also joined."""
    before = ""
    for index in run:
        text = lines[index].text
        match = _ENTRY.fullmatch(text)
        title = match["title"] if match else text
        for entry in (title, f"{before} {title}"):
            yield fold(entry)
            yield fold(_NUMBERING.sub("", entry.strip()))
        before = "" if match and title else title
