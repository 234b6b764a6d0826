"""Words of a section, in the form in which they are compared.

Punctuation, quotation marks, spacing, upper case, ligatures, a section's own number, the letters of
list items and the marks of footnotes are not part of it, so they never count as a change. Numbers
keep their decimal points, currency and percent signs.
"""

import re
import unicodedata
from dataclasses import dataclass

from quinion.model.comparison import SectionText
from quinion.model.section import Kind, Span

NUMBERED = [kind for kind in Kind if kind not in {Kind.FRONT, Kind.CONTENTS, Kind.HEADING}]

_LABEL = re.compile(rf"(?:^| )({'|'.join(NUMBERED)}) ((?:[A-Z]+ )?\S*\d\S*|[A-Z]|[IVXL]+)$")
_OWN_LABEL = re.compile(rf"\s*(?:(?:{'|'.join(NUMBERED)}|Paragraph)\b\s*)?", re.IGNORECASE)
_OWN_STOP = re.compile(r"(?:[.:)\]]|\s*[–—-])?(?=\s|$)\s*")
_TOKEN = re.compile(r"[£$€]?\d+(?:[.,:/]\d+)*%?[^\W\d_]*|[^\W_]+(?:['’][^\W\d_]+)*")
_APOSTROPHE = re.compile(r"['’]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
# A footnote's mark follows a word without a space: `plan2`, `otherwise.3`. Codes (`PM12`) have
# capitals, units (`m2`) fewer letters.
_MARKED = re.compile(r"([^\W\d_]{2,}[a-zß-ÿ])\d{1,3}")
_MARK_AFTER_STOP = re.compile(r"[a-zß-ÿ]{4}[.,;:)’”]{1,2}(?=\d{1,3}(?!\w|[.,]\d))")
# The letter of a list item: `(a)` or `a.` at the start of a line or after a stop, `a)` or `ii.`
# anywhere.
_ITEMS = (
    re.compile(r"(?:^[ \t]*|(?<=[:;.])\s+)\(?([a-z]|[ivx]{2,5})[.)](?=\s)", re.MULTILINE),
    re.compile(r"(?<=\s)([a-z](?=\))|[ivx]{2,5})[.)](?=\s)"),
)


@dataclass(frozen=True, slots=True)
class Words:
    """Words of a text: the form that is compared, and where each one stands."""

    keys: tuple[str, ...]
    spans: tuple[Span, ...]

    def __len__(self) -> int:
        return len(self.keys)


def label_of(ref: str) -> tuple[Kind, str]:
    """Return the kind and the number that a reference names; a heading has no number."""
    if match := _LABEL.search(ref):
        return Kind(match[1]), match[2]
    for kind in (Kind.FRONT, Kind.CONTENTS):
        if ref == kind:
            return kind, ""
    return Kind.HEADING, ""


def read_words(ref: str, text: str) -> Words:
    """Return the words of a section, without its own number."""
    kind, number = label_of(ref)
    keys: list[str] = []
    spans: list[Span] = []
    left_out = {match.end() for match in _MARK_AFTER_STOP.finditer(text)}
    left_out.update(match.start(1) for items in _ITEMS for match in items.finditer(text))
    for match in _TOKEN.finditer(text, _skip_number(number, text)):
        start, end = match.span()
        if start in left_out or (kind is Kind.CONTENTS and _is_page_number(text, start, end)):
            continue
        word = match[0]
        if marked := _MARKED.fullmatch(word):
            word, end = marked[1], start + len(marked[1])
        keys.append(_fold(word))
        spans.append((start, end))
    return Words(tuple(keys), tuple(spans))


@dataclass(frozen=True, slots=True)
class WordedSection:
    """A section with its words."""

    section: SectionText
    words: Words

    @classmethod
    def of(cls, section: SectionText) -> "WordedSection":
        return cls(section, read_words(section.ref, section.text))


def _skip_number(number: str, text: str) -> int:
    """Return where the text after the section's own label and number starts."""
    label = _OWN_LABEL.match(text)
    start = label.end() if label else 0
    end = start + len(number)
    if not number or text[start:end].casefold() != number.casefold():
        return 0
    stop = _OWN_STOP.match(text, end)
    return stop.end() if stop else 0


def _is_page_number(text: str, start: int, end: int) -> bool:
    line_ends = end == len(text) or text[end] == "\n"
    return line_ends and text[start:end].isdigit()


def _fold(word: str) -> str:
    folded = word if word.isascii() else unicodedata.normalize("NFKC", word)
    return _THOUSANDS.sub("", _APOSTROPHE.sub("", folded)).casefold()
