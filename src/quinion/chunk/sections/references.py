"""References to sections: parsing and matching.

A reference has one or more names, outermost first: `Para 116`, `Policy PM1 Para 2`,
`Chapter 5 Plan-making policies`. Matching ignores case, spacing, common abbreviations (`Para.`,
`Fig.`), Roman numerals of chapters, and dashes or dots in the numbers of tables and figures.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Protocol, TypeVar

from quinion.chunk.sections.heading_candidates import count_of
from quinion.model.section import SectionChunk

_LABELS = {
    "paragraph": "para",
    "paragraphs": "para",
    "para": "para",
    "paras": "para",
    "¶": "para",
    "figure": "figure",
    "fig": "figure",
    "table": "table",
    "tab": "table",
    "chapter": "chapter",
    "ch": "chapter",
    "chap": "chapter",
    "section": "section",
    "sec": "section",
    "§": "section",
    "part": "part",
    "policy": "policy",
    "annex": "annex",
    "annexe": "annex",
    "appendix": "appendix",
    "app": "appendix",
    "schedule": "schedule",
    "footnote": "footnote",
    "fn": "footnote",
    "note": "footnote",
    "map": "map",
    "box": "box",
}
_COUNTED_IN_ROMAN = frozenset({"chapter", "part", "section"})
_DASHED = frozenset({"table", "figure", "map", "box"})
# Alternatives if no section has exactly this name: people say section for chapter, and plans
# number headings like paragraphs.
_ALSO = {
    "para": ("section",),
    "section": ("chapter", "para"),
    "chapter": ("section", "part"),
    "annex": ("appendix", "schedule"),
    "appendix": ("annex", "schedule"),
    "": ("para", "section", "chapter"),
}

_NAME = re.compile(
    rf"(?P<label>{'|'.join(sorted(map(re.escape, _LABELS), key=len, reverse=True))})"
    r"(?:\.\s*|\s+|(?<=[¶§]))(?:no\.?\s*)?"
    r"(?P<number>[a-z]{1,5}(?:/[a-z]{1,4})?[ -]?\d[\w.]*(?:[-–]\d+)*|\d[\w.]*(?:[-–]\d+)*"
    r"|[ivxl]+\b|[a-z]\b|\w+\b)"
)
_CODE = re.compile(r"[a-z]{1,5}(?:/[a-z]{1,4})?[ -]?\d{1,3}(?:\.\d{1,2}){0,2}[a-z]?")
_BARE_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,2}\.?")
_CLAUSE = re.compile(r"\(\s*(\d{1,2})\s*\)")

Name = tuple[str, str]
"""A label and a number, or an empty label and a text; normalized."""


class Located(Protocol):
    """A section or chunk. `path` has the references from the outermost section to its own."""

    @property
    def path(self) -> tuple[str, ...]: ...


T = TypeVar("T", bound=Located)


def normalize_ref(text: str) -> str:
    """Normalize a reference: `Paragraph  116` and `PARA. 116` become `para 116`."""
    return " ".join(f"{label} {number}".strip() for label, number in _parse(text))


def select(items: Sequence[T], asked: str) -> list[T]:
    """Return the sections or chunks that the reference names, with everything inside them.

    `items` are in document order, and so is the result. It is empty if no section matches, or if
    the reference is ambiguous: then `choices` lists the matches.
    """
    prefixes = _named(items, asked)
    if len(prefixes) != 1:
        return []
    (prefix,) = prefixes
    return [item for item in items if item.path[: len(prefix)] == prefix]


def choices(items: Sequence[Located], asked: str) -> list[str]:
    """Return the full names of the sections that match the reference, in document order."""
    return [" ".join(_unfold(prefix)) for prefix in _named(items, asked)]


def join_chunks(chunks: Iterable[SectionChunk]) -> str:
    """Join the text of chunks in document order, without their overlaps.

    An empty line separates sections.
    """
    texts = []
    for _, group in groupby(chunks, key=lambda chunk: chunk.section_index):
        text, end = "", 0
        for chunk in group:
            gap = " " if text and chunk.start > end else ""
            text += gap + chunk.text[max(0, end - chunk.start) :]
            end = max(end, chunk.end)
        texts.append(text)
    return "\n\n".join(texts)


def _named(items: Sequence[Located], asked: str) -> list[tuple[str, ...]]:
    """Return the paths of the matching sections, without duplicates."""
    paths = list(dict.fromkeys(item.path for item in items))
    names: dict[str, Name] = {}
    for path in paths:
        for ref in path:
            if ref not in names:
                names[ref] = _parse(ref)[-1]
    for wanted in _readings(asked):
        found: dict[tuple[str, ...], None] = {}
        for path in paths:
            place = _place([names[ref] for ref in path], wanted)
            if place is not None:
                found[path[: place + 1]] = None
        if found:
            return list(found)
    return []


def _place(path: Sequence[Name], wanted: Sequence[Name]) -> int | None:
    """Return the position of the last wanted name, if the path has all of them in order."""
    place = -1
    for name in wanted:
        try:
            place = path.index(name, place + 1)
        except ValueError:
            return None
    return place


def _readings(asked: str) -> Iterator[list[Name]]:
    """Yield the interpretations of the reference, the likeliest first."""
    names = _parse(asked)
    label, number = names[-1]
    rest = _after_label(asked)
    if label and rest and len(names) == 1:
        yield [*names, ("", rest)]
    yield names
    if label:
        for other in _ALSO.get(label, ()):
            yield [*names[:-1], (other, number)]
        if label == "para" and number[-1].isalpha():
            yield [*names[:-1], (label, number.rstrip("abcdefghijklmnopqrstuvwxyz"))]
    elif _BARE_NUMBER.fullmatch(number):
        for other in _ALSO[""]:
            yield [(other, number)]
    elif _CODE.fullmatch(asked.casefold().strip()):
        yield [("policy", number)]


def _parse(text: str) -> list[Name]:
    """Parse the names in a reference, outermost first; a text without a label is one name."""
    folded = " ".join(text.casefold().split())
    matches = []
    position = 0
    while (match := _NAME.match(folded, position)) and _is_number(match):
        matches.append(match)
        position = match.end()
        while position < len(folded) and folded[position] in " ,>":
            position += 1
        if folded.startswith(("of ", "in "), position):
            position += 3
    if not matches:
        return [("", _fold(folded))]
    names = [_name(match) for match in matches]
    if clause := _CLAUSE.match(folded, matches[-1].end()):
        names.append(("para", clause[1]))
    inside_out = re.search(r"\d,? (?:of|in) ", folded[: matches[-1].start() + 1])
    return names[::-1] if inside_out and len(names) > 1 else names


def _is_number(match: re.Match[str]) -> bool:
    """Check that a number follows the label; "Part of the plan" is a heading."""
    label, number = _LABELS[match["label"]], match["number"]
    if any(letter.isdigit() for letter in number):
        return True
    if label in _COUNTED_IN_ROMAN:
        return count_of(number) > 0 or len(number) == 1
    return len(number) == 1 or (label in {"annex", "appendix", "schedule"} and count_of(number) > 0)


def _name(match: re.Match[str]) -> Name:
    label, number = _LABELS[match["label"]], match["number"].rstrip(".")
    if label in _COUNTED_IN_ROMAN and count_of(number):
        number = str(count_of(number))
    if label in _DASHED:
        number = re.sub(r"[.–]", "-", number)
    return label, number.replace(" ", "") if label != "policy" else _fold(number)


def _after_label(asked: str) -> str:
    folded = " ".join(asked.casefold().split())
    match = _NAME.match(folded)
    return _fold(folded[match.end() :]) if match else ""


def _fold(text: str) -> str:
    """Reduce a text to letters, digits and inner dots."""
    return "".join(letter for letter in text.casefold() if letter.isalnum() or letter == ".").strip(
        "."
    )


def _unfold(path: Sequence[str]) -> Iterator[str]:
    """Yield the references of a path, without those that the next one repeats."""
    for place, ref in enumerate(path):
        inner = path[place + 1] if place + 1 < len(path) else ""
        if not inner.startswith(ref):
            yield ref
