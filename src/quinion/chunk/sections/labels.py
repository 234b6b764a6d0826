"""Labelled sections: `Chapter 5`, `Policy H1`, `Table 5-2`, `Annex B`.

A label alone is not enough: lines also start with "Table 2 shows" and "Policy H1 applies". A mark
must look like a heading or be in the table of contents. Without layout (after OCR), it must be
punctuated like a heading.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

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
from quinion.chunk.sections.numbering import Number, best_chain
from quinion.chunk.sections.typography import is_title
from quinion.model.section import Kind

# Minimum number of policies without the word `Policy`, e.g. `DM1: …`.
_FEWEST_BARE = 4

_SEPARATED = re.compile(r"\s*[:–—-]\s*\S")
_MENTION = re.compile(rf"(?i:polic(?:y|ies))\s+({CODE})(?!\.?\d)")
_CONTINUED = re.compile(r"\bcont(?:inued|['’]?d|\.)", re.IGNORECASE)


def find_labelled(document: DocumentLines) -> tuple[list[Mark], set[int]]:
    """Find the labelled sections, and the lines that only repeat one of their headings."""
    found: list[Mark] = []
    for index in document.free:
        found.extend(_read_label(document, index))
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
