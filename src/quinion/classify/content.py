"""Classification of a document by its text.

Evidence, strongest first: a title (`Heritage Statement` on a line of its own), what the document
calls itself (`This planning statement reviews …`), and the phrases of its subject. The first name
decides: the title of another kind of document (an inspector's report, a letter) makes the phrases
worthless, because such documents speak of assessments that others wrote.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from quinion.classify.names import NAMES, OTHER_DOCUMENTS, word_pattern
from quinion.classify.subjects import SUBJECTS
from quinion.model.document_type import DRAWINGS, DocumentType

# The first page or two; then the part that is searched for phrases of a subject.
_OPENING_CHARACTERS = 3_000
_SCANNED_CHARACTERS = 20_000
# Titles have at most this many lines of at most this length.
_TITLE_LINES = 3
_TITLE_LENGTH = 120
_TITLE_WORDS = 12
# A document with fewer words is a drawing, if it has the title of one.
_DRAWING_WORDS = 400
# With fewer words, no scale is needed: the words are the drawing's label.
_LABEL_WORDS = 60
# Titles of as many types close together are a list of documents.
_LISTED_KINDS = 3
_CITED_REACH = 60
# Phrases of a subject: how many, how many different ones, how many per thousand words, and how
# many times as many as of the next subject.
_FEWEST_MENTIONS = 5
_FEWEST_PHRASES = 2
_FEWEST_PER_THOUSAND = 8
_LEAD = 2
_FEWEST_NAMES = 2
# A name counts like this many phrases of a subject.
_NAME_WEIGHT = 2

# Words before a name in a title, as in `Updated Outline Travel Plan`; not those of a sentence.
_BEFORE = (
    r"(?:(?!(?:the|of|to|in|by|with|from|our|your|this|see|re|comments?|review|response|reply|"
    r"objections?|no|as|is|refer)\b)[\w'’&,./()-]+ ){0,8}"
)
# What may follow it: a place, a date, a version, another name.
_AFTER = (
    r"(?: ?[:–—|(,.-].*| (?:for|at|of|on|to|and|&|incl\w*|report|addendum|volume|vol|part|rev\w*|"
    r"version|v|issue|final|draft|update|summary|\d)\b.*)?"
)
_ADDRESS = (
    r"(?:(?:document |report )?title: "
    r"|(?!.*\b(?:re|subject|comments?|response|objections?|review)\b).{1,90} [:–—|-] )?"
)
_TITLES = {
    kind: re.compile(rf"{_ADDRESS}{_BEFORE}(?P<name>{pattern.pattern}){_AFTER}")
    for kind, pattern in NAMES.items()
    if kind not in DRAWINGS
}
_SELF = (
    r"\b(?:this (?:[\w-]+ ){0,4}"
    r"|(?:commissioned|instructed|appointed|engaged|retained) (?:[\w&.,'-]+ ){0,9}"
    r"to (?:prepare|undertake|carry out|produce|provide|conduct|complete|write) "
    r"(?:an?|the|this) (?:[\w-]+ ){0,4}"
    r"|this (?:report|document|statement|note) (?:[\w-]+ ){1,5}(?:of )?(?:an?|the) "
    r"(?:[\w-]+ ){0,3})"
)
_SELVES = {
    kind: re.compile(rf"{_SELF}(?:{pattern.pattern})")
    for kind, pattern in NAMES.items()
    if kind not in DRAWINGS
}
# Documents of other kinds, by a line among the first.
_OTHER_TITLE = re.compile(
    OTHER_DOCUMENTS.pattern
    + "|"
    + word_pattern(
        r"report to .*",
        r"an inspector appointed.*",
        r"report on the examination of.*",
        r"notice is hereby given.*",
        r"planning committee",
        r"public report",
        r"report of consultation",
        r"minutes of .*",
        r"(?:main|proposed) modification",
        r"(?:integrated|health|equality) impact assessment",
        r"impact assessment commentary",
        r"green belt (?:review|study)",
        r"landscape (?:value|and visual) .*",
        r"neighbourhood (?:forum|area)",
        r"article (?:4|four) direction",
        r"annual (?:report|monitoring report)",
        r"(?:guidance|advice) note",
        r"validation (?:checklist|requirement)",
    ).pattern
)
_LETTER = re.compile(r"(?:dear|re:) .*|to whom it may .*")
# A line that has only the name of a plan or a policy framework, and perhaps its place and date.
_PLAN_TITLE = re.compile(
    r"(?:[\w'’&-]+ ){0,5}(?:local plan|core strategy|area action plan|neighbourhood plan|"
    r"planning policy framework|development plan document|control plan)(?: [\w–—-]+){0,5}"
)
_BULLET = re.compile(r"[•●▪◦*–—-]\s|\(?[a-z0-9]{1,2}[.)]\s")
_UNFINISHED = re.compile(
    r"(?:,|\b(?:an?|the|and|or|of|by|with|in|to|its|this|for|from|that|see|as|is|are|was))$"
)
# Mentions of a name that speak of another document.
_CITED_BEFORE = re.compile(
    r"(?:accompanied by|supported by|refer to|see|set out in|within|contained in|submitted|"
    r"accompanying|applicant[’']?s[’']?|appellant[’']?s|council[’']?s|according to|conclusions? of|"
    r"findings of|objection to|comments on|response to|review of|separate) "
    r"(?:an?|the|its)? ?(?:[\w-]+ ){0,3}$"
)
_CITED_AFTER = re.compile(
    r"(?:,? (?:submitted|says|states?|stated|concludes?|concluded|accompan\w+|prepared|dated|was|"
    r"were|which|that|provided|by|is|has|have|finds?|found|shows?|claims?|argues?|fails?)\b)"
)
_SCALE = re.compile(
    r"\bscale\b|\b1 ?: ?\d{2,4}\b|\bdrawing (?:no|number|title)\b|\bdwg\b|@ ?a[0-4]\b"
)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the opening: as written, and in lower case; its offset in the folded opening."""

    written: str
    folded: str
    offset: int
    after_sentence: bool

    @property
    def may_be_title(self) -> bool:
        """Check that the line starts like a title: not within a sentence, and not in a list."""
        return (
            self.after_sentence and not self.written[0].islower() and not _BULLET.match(self.folded)
        )


@dataclass(frozen=True, slots=True)
class _Naming:
    """A line that names the type of the document."""

    line: int
    kind: DocumentType


def classify_text(text: str) -> DocumentType | None:
    """Return the type that the text shows; None if it shows none."""
    lines = _read_lines(text[:_OPENING_CHARACTERS])
    words = len(text[:_SCANNED_CHARACTERS].split())
    other = _find_other(lines)
    if words <= _DRAWING_WORDS and other is None and (drawing := _classify_drawing(lines, words)):
        return drawing
    named = min([*_find_titles(lines), *_find_selves(lines)], key=_line_of, default=None)
    if named is not None and (other is None or named.line < other):
        return named.kind
    if other is not None:
        return None
    return _classify_by_mentions(_fold(text[:_OPENING_CHARACTERS])) or _classify_by_subject(
        _fold(text[:_SCANNED_CHARACTERS])
    )


def _fold(text: str) -> str:
    return " ".join(text.split()).lower().replace("’", "'")


def _line_of(naming: _Naming) -> int:
    return naming.line


def _read_lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    offset, finished = 0, True
    for row in text.splitlines():
        written = " ".join(row.split())
        if written:
            folded = written.lower().replace("’", "'")
            lines.append(_Line(written, folded, offset, finished))
            offset += len(folded) + 1
            finished = _UNFINISHED.search(folded) is None
    return lines


def _find_titles(lines: Sequence[_Line]) -> Iterator[_Naming]:
    """Yield the lines that are titles of a type with prose, without lists of documents."""
    found: dict[int, DocumentType] = {}
    for index, line in enumerate(lines):
        if line.may_be_title and (kind := _read_title(lines[index : index + _TITLE_LINES])):
            found[index] = kind
    for index, kind in found.items():
        neighbours = {found.get(other) for other in range(index - 2, index + 3)} - {None}
        if len(neighbours) < _LISTED_KINDS:
            yield _Naming(index, kind)


def _read_title(lines: Sequence[_Line]) -> DocumentType | None:
    """Return the type that one line is the title of, or several lines together."""
    for count in range(1, len(lines) + 1):
        title = " ".join(line.folded for line in lines[:count])
        written = " ".join(line.written for line in lines[:count])
        if len(title) > _TITLE_LENGTH or OTHER_DOCUMENTS.search(title):
            return None
        for kind, pattern in _TITLES.items():
            match = pattern.fullmatch(title)
            if match is None or match.start("name") >= len(lines[0].folded):
                continue
            if written[match.start("name")].isupper():
                return kind
    return None


def _find_selves(lines: Sequence[_Line]) -> Iterator[_Naming]:
    """Yield the lines in which the document calls itself by a type's name."""
    text = " ".join(line.folded for line in lines)
    for kind, pattern in _SELVES.items():
        if match := pattern.search(text):
            at = bisect_right(lines, match.start(), key=lambda line: line.offset) - 1
            yield _Naming(at, kind)


def _find_other(lines: Sequence[_Line]) -> int | None:
    """Return the first line that is the title of another kind of document, or a salutation."""
    for index, line in enumerate(lines):
        if _LETTER.fullmatch(line.folded):
            return index
        if not line.may_be_title or _reads_as_sentence(line):
            continue
        if _OTHER_TITLE.search(line.folded) or _PLAN_TITLE.fullmatch(line.folded):
            return index
    return None


def _reads_as_sentence(line: _Line) -> bool:
    return (
        len(line.written.split()) > _TITLE_WORDS
        or line.written.endswith((".", ",", ";"))
        or ". " in line.written
        or _UNFINISHED.search(line.folded) is not None
    )


def _classify_drawing(lines: Sequence[_Line], words: int) -> DocumentType | None:
    """Return the type of drawing that the few words name most often, else first."""
    text = " ".join(line.folded for line in lines)
    if words > _LABEL_WORDS and not _SCALE.search(text):
        return None
    if any(NAMES[kind].search(text) for kind in SUBJECTS):
        return None
    found = {kind: list(NAMES[kind].finditer(text)) for kind in DRAWINGS}
    named = {kind: matches for kind, matches in found.items() if matches}
    return min(named, key=lambda kind: (-len(named[kind]), named[kind][0].start()), default=None)


def _classify_by_mentions(opening: str) -> DocumentType | None:
    """Return the type that the first page names twice, or once with two phrases of its subject."""
    scores: Counter[DocumentType] = Counter()
    clear: set[DocumentType] = set()
    for kind, subject in SUBJECTS.items():
        names = sum(not _is_cited(opening, match) for match in NAMES[kind].finditer(opening))
        phrases = len(set(subject.findall(opening)))
        scores[kind] = _NAME_WEIGHT * names + phrases
        if names >= _FEWEST_NAMES or (names and phrases >= _FEWEST_PHRASES):
            clear.add(kind)
    return _leader(scores, clear)


def _is_cited(text: str, name: re.Match[str]) -> bool:
    """Check whether a name is that of a document that the text only speaks of."""
    before = text[max(0, name.start() - _CITED_REACH) : name.start()]
    return bool(_CITED_BEFORE.search(before) or _CITED_AFTER.match(text, name.end()))


def _classify_by_subject(text: str) -> DocumentType | None:
    """Return the type whose phrases are most frequent near the beginning."""
    mentions = {kind: pattern.findall(text) for kind, pattern in SUBJECTS.items()}
    needed = max(_FEWEST_MENTIONS, _FEWEST_PER_THOUSAND * len(text.split()) / 1000)
    scores = Counter({kind: len(found) for kind, found in mentions.items()})
    clear = {
        kind
        for kind, found in mentions.items()
        if len(found) >= needed and len(set(found)) >= _FEWEST_PHRASES
    }
    return _leader(scores, clear)


def _leader(scores: Counter[DocumentType], clear: Set[DocumentType]) -> DocumentType | None:
    """Return the first type if its evidence is clear and far stronger than that of the second."""
    (first, score), (_, second) = scores.most_common(2)
    return first if first in clear and score >= _LEAD * second else None
