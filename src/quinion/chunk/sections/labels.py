"""Labelled sections: `Chapter 5`, `Policy H1`, `Table 5-2`, `Annex B`.

A label alone is not enough: lines also start with "Table 2 shows" and "Policy H1 applies". A mark
must look like a heading or be in the table of contents. In the type of the body text, it must stand
alone on its line, and the numbers of such lines must follow one another. Without layout (after
OCR), it must be punctuated like a heading.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from itertools import pairwise

from quinion.chunk.sections.heading_candidates import (
    BARE_POLICY,
    BETWEEN,
    CAPTIONS,
    CODE,
    LABELLED,
    DocumentLines,
    Mark,
    count_of,
)
from quinion.chunk.sections.numbering import Number, best_chain, follows
from quinion.chunk.sections.typography import is_title
from quinion.model.section import Kind

# A heading in the type of the body text is at most this long, and one of at least so many.
_LONGEST_PLAIN = 70
_FEWEST_PLAIN = 3
# Minimum number of policies without the word `Policy`, e.g. `DM1: …`.
_FEWEST_BARE = 4

_COUNTED = frozenset({Kind.CHAPTER, Kind.POLICY, Kind.ANNEX, Kind.APPENDIX})
"""Kinds whose numbers confirm a heading; parts and sections are also parts of paragraphs."""

_SEPARATED = re.compile(r"\s*[:–—-]\s*\S")
_MENTION = re.compile(rf"(?i:polic(?:y|ies))\s+({CODE})(?!\.?\d)")
_CONTINUED = re.compile(r"\bcont(?:inued|['’]?d|\.)", re.IGNORECASE)


def find_labelled(document: DocumentLines) -> tuple[list[Mark], set[int]]:
    """Find the labelled sections, and the lines that only repeat one of their headings."""
    found: list[Mark] = []
    for index in document.free:
        found.extend(_read_label(document, index))
    found.extend(_find_plain(document, found))
    found.extend(_find_bare_policies(document, {mark.first for mark in found}))
    for kind in (Kind.PART, Kind.SECTION):
        found = _counted_from_first(found, kind)
    kept = _without_repeats(found)
    return kept, {mark.first for mark in found} - {mark.first for mark in kept}


def _read_label(document: DocumentLines, index: int) -> Iterator[Mark]:
    text = document.lines[index].text
    for kind, pattern in LABELLED:
        if match := pattern.fullmatch(text):
            mark = document.read_mark(index, kind, match[1], match[2])
            if _is_heading(document, mark, match[2]):
                number = (count_of(match[1]),) if kind is Kind.CHAPTER else ()
                yield replace(mark, number=number)
                return
    for kind, pattern in CAPTIONS:
        if match := pattern.fullmatch(text):
            mark = document.read_mark(index, kind, match[1].replace("–", "-"), match[2])
            if _is_caption(document, mark, match[2]):
                yield mark
                return


def _find_plain(document: DocumentLines, found: Sequence[Mark]) -> Iterator[Mark]:
    """Find headings in the type of the body text whose numbers follow one another.

    They continue the numbers of the headings found, or count from 1 by themselves.
    """
    taken = {mark.first for mark in found}
    families: dict[tuple[Kind, str], list[Mark]] = defaultdict(list)
    for mark in found:
        families[_family(mark)].append(mark)
    for index in document.free:
        if index not in taken and (plain := _read_plain(document, index)):
            families[_family(plain)].append(plain)
    for family in families.values():
        marks = sorted(family, key=lambda mark: mark.first)
        numbers = [_count(mark) for mark in marks]
        chain = best_chain(numbers)
        is_complete = all(follows(numbers[one], numbers[two]) for one, two in pairwise(chain))
        if len(chain) < _FEWEST_PLAIN or not is_complete or numbers[chain[0]] != (1,):
            continue
        yield from (marks[place] for place in chain if marks[place].first not in taken)


def _read_plain(document: DocumentLines, index: int) -> Mark | None:
    """Read a label that stands alone on its line, between sentences that are complete."""
    line = document.lines[index]
    below = document.below(index)
    if (
        line.size is None
        or len(line.text) > _LONGEST_PLAIN
        or document.typography.is_small(line)
        or _breaks_off(document, index)
        or below is None
        or document.lines[below].text[0].islower()
    ):
        return None
    for kind, pattern in LABELLED:
        match = pattern.fullmatch(line.text)
        if match and kind in _COUNTED and _may_follow(match[2], match[2].lstrip(BETWEEN)):
            number = (count_of(match[1]),) if kind is Kind.CHAPTER else ()
            mark = document.read_mark(index, kind, match[1], match[2])
            return replace(mark, number=number)
    return None


def _family(mark: Mark) -> tuple[Kind, str]:
    """Return what the marks of one sequence of numbers share: `H` of `Policy H1`."""
    return mark.kind, re.sub(r"[\W\d].*", "", mark.name) if mark.kind is Kind.POLICY else ""


def _count(mark: Mark) -> Number:
    if mark.kind is Kind.POLICY:
        return _digits(mark.name)
    if len(mark.name) == 1 and mark.name.isalpha() and mark.kind is not Kind.CHAPTER:
        return (ord(mark.name.upper()) - ord("A") + 1,)
    return (count_of(mark.name),)


def _is_heading(document: DocumentLines, mark: Mark, rest: str) -> bool:
    """Check that a labelled line is a heading. `rest` is the text after the label."""
    line = document.lines[mark.first]
    if not _may_follow(rest, mark.title):
        return False
    if document.contents.names(line.text):
        return True
    if mark.kind is Kind.PART:
        # A part has a larger heading than its chapters; otherwise it is a part of a policy.
        return document.typography.is_large(line)
    if line.size is None:
        return not rest or _SEPARATED.match(rest) is not None
    return document.typography.stands_out(line)


def _is_caption(document: DocumentLines, mark: Mark, rest: str) -> bool:
    line = document.lines[mark.first]
    if not _may_follow(rest, mark.title):
        return False
    typography = document.typography
    if (
        typography.stands_out(line)
        or typography.is_small(line)
        or document.contents.names(line.text)
    ):
        return True
    # Same print as the body text, or unknown: requires a colon or dash, and no unfinished
    # sentence in the line above.
    return _SEPARATED.match(rest) is not None and not _breaks_off(document, mark.first)


def _breaks_off(document: DocumentLines, below: int) -> bool:
    line = document.lines[below - 1]
    if below == 0 or line.page_number != document.lines[below].page_number:
        return False
    return line.text[-1].isalnum() and not document.typography.stands_out(line)


def _may_follow(rest: str, title: str) -> bool:
    """Check that a title follows the label, not the rest of a sentence."""
    words = rest.lstrip(BETWEEN)
    return not words or (not words[0].islower() and words[0] not in ",;)" and is_title(title))


def _find_bare_policies(document: DocumentLines, taken: Set[int]) -> Iterator[Mark]:
    """Find policies headed by their code only, e.g. `DM1: Housing`."""
    families: dict[str, list[Mark]] = defaultdict(list)
    for index in document.free:
        match = BARE_POLICY.fullmatch(document.lines[index].text)
        if match is None or index in taken:
            continue
        mark = document.read_mark(index, Kind.POLICY, match[1], match[2])
        if _is_heading(document, mark, match[2]):
            families[re.sub(r"[\W\d].*", "", match[1])].append(mark)
    chains = [
        [family[place] for place in best_chain([_digits(mark.name) for mark in family])]
        for family in families.values()
    ]
    named = [chain for chain in chains if len(chain) > 1 or document.contents.names(chain[0].title)]
    codes = {mark.name for chain in named for mark in chain}
    if len(codes) >= _FEWEST_BARE and _are_called_policies(document, codes):
        for chain in named:
            yield from chain


def _are_called_policies(document: DocumentLines, codes: Set[str]) -> bool:
    """Check that the text calls one of the codes a policy (`policy DM1`); aims have codes too."""
    mentions = (match for line in document.lines for match in _MENTION.finditer(line.text))
    return any(match[1] in codes for match in mentions)


def _digits(name: str) -> Number:
    return tuple(int(number) for number in re.findall(r"\d+", name))


def _counted_from_first(marks: Sequence[Mark], kind: Kind) -> list[Mark]:
    """Drop the marks of a kind, unless one of them has number 1."""
    if any(mark.kind is kind and mark.name in {"1", "I", "A"} for mark in marks):
        return list(marks)
    return [mark for mark in marks if mark.kind is not kind]


def _without_repeats(marks: Sequence[Mark]) -> list[Mark]:
    """Keep one mark per name: the largest, and of these the first.

    Repeats are headings of continued boxes and tables, and lists of policies.
    """
    best: dict[tuple[Kind, str], Mark] = {}
    for mark in marks:
        key = (mark.kind, mark.name.replace(" ", "").casefold())
        if key not in best or (mark.size > best[key].size and not _CONTINUED.search(mark.title)):
            best[key] = mark
    return sorted(best.values(), key=lambda mark: mark.first)
