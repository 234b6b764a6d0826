"""References in queries ("paragraph 116", "Policy DP12", "Figure 4.2"): what they name comes first.

A record is what a reference names if its section, label or heading is that reference, or if a line
of its text begins with it. Such records get a higher score. Others keep theirs, so nothing is lost
when a query mentions a reference in passing. A line may begin with a number for other reasons: it
is a page number, or a sentence goes on there. That counts less.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quinion.lexical.word_query import WordQuery
from quinion.model.record import Hit, Match, Record

_KINDS = {
    "paragraph": ("paragraph", "paragraphs", "para", "paras", "par", "¶"),
    "policy": ("policy", "policies"),
    "section": ("section", "sections", "sect", "§"),
    **{
        kind: (kind, f"{kind}s")
        for kind in ("chapter", "table", "part", "schedule", "box", "map", "diagram", "chart")
    },
    "figure": ("figure", "figures", "fig", "figs"),
    "annex": ("annex", "annexe", "annexes"),
    "appendix": ("appendix", "appendices", "app"),
    "equation": ("equation", "equations", "eq", "eqn"),
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words}
_NUMBER = r"[a-z]{0,4}\d{1,6}[a-z]?(?:[.\-/–]\d{1,4}[a-z]?){0,5}"
_REFERENCE = re.compile(
    rf"(?<![\w/.-])(?:(?P<kind>{'|'.join(sorted(_KIND_OF, key=len, reverse=True))})\.?\s{{0,3}}"
    rf"(?P<number>{_NUMBER}|(?<=\s)[a-z](?![\w'’]))|(?P<code>[a-z]{{1,4}}\d{{1,6}}[a-z]?))(?![\w/])",
    re.IGNORECASE,
)
_HEAD = re.compile(r"[\s#*(\[]{0,10}")
_PARAGRAPH_HEAD = re.compile(rf"[\s#*(\[]{{0,10}}({_NUMBER})[.):]?(?=\s|$)", re.IGNORECASE)
_PARAGRAPH_TEXT = re.compile(r"\s{1,10}[\W\d_]{0,5}[^\W\d_a-zß-öø-ÿ]")
_NAME_KEYS = ("section_ref", "label", "section_path", "header_path")
_SEPARATORS = re.compile(r"\n| > ")
MAX_REFERENCES = 5
MAX_CHARACTERS = 2_000
"""Length of the part of a query or a heading that is searched for references."""

ONLY, NAMED, BEGINS, PERHAPS = 1.0, 0.5, 0.25, 0.1
"""What is added to a score of 1 at most: for a query that is nothing but the reference; else for
its section, label or heading; else for a line that begins with it; and for one that may."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference: its kind, or an empty text if that is not known, and its number or letter."""

    kind: str
    number: str

    def is_same(self, other: "Reference") -> bool:
        """Whether both may mean the same thing."""
        kinds = {self.kind, other.kind}
        return self.number == other.number and (len(kinds) == 1 or "" in kinds)


def find_references(text: str) -> list[Reference]:
    """Find the references in a text, in order."""
    found = map(_read, _REFERENCE.finditer(text[:MAX_CHARACTERS]))
    return list(dict.fromkeys(found))[:MAX_REFERENCES]


def promote(hits: Sequence[Hit], references: Sequence[Reference], query: WordQuery) -> list[Hit]:
    """Raise the scores of the hits that are what the references name, and sort by score."""
    best = max((hit.match.score for hit in hits if hit.match), default=0.0) or 1.0
    is_only = query.content_words <= 2 * len(references)
    raised = []
    for hit in hits:
        weight = max(_weigh(hit.record, one) for one in references)
        score = hit.match.score if hit.match else 0.0
        score += best * (ONLY if is_only and weight > PERHAPS else 0) + best * weight
        words = hit.match.words if hit.match else ()
        raised.append(replace(hit, match=Match(score, words)) if weight else hit)
    return sorted(raised, key=lambda hit: -hit.match.score if hit.match else 0.0)


def _read(match: re.Match[str]) -> Reference:
    kind = _KIND_OF[match["kind"].casefold()] if match["kind"] else ""
    number = (match["number"] or match["code"]).casefold().replace("–", "-")
    return Reference(kind, number)


def _weigh(record: Record, reference: Reference) -> float:
    names = (
        name
        for key in _NAME_KEYS
        for name in _SEPARATORS.split(str(record.metadata.get(key, "")))[-1:]
    )
    if any(_weigh_line(name, reference) for name in names):
        return NAMED
    return max((_weigh_line(line, reference) for line in record.text.split("\n")), default=0.0)


def _weigh_line(line: str, reference: Reference) -> float:
    """Whether a line begins with a reference: `BEGINS`, `PERHAPS` or 0."""
    start = _HEAD.match(line)
    place = start.end() if start else 0
    if found := _REFERENCE.match(line, place, place + MAX_CHARACTERS):
        other = _read(found)
        if reference.is_same(other):
            return BEGINS if other.kind or not reference.kind else PERHAPS
    if reference.kind not in ("paragraph", "section", "chapter"):
        return 0.0
    numbered = _PARAGRAPH_HEAD.match(line[:MAX_CHARACTERS])
    if not numbered or numbered[1].casefold() != reference.number:
        return 0.0
    is_number_only = numbered[1].isdecimal() and numbered.end() == numbered.end(1)
    rest = line[numbered.end() :]
    if rest.strip():
        return BEGINS if _PARAGRAPH_TEXT.match(rest) else PERHAPS
    return PERHAPS if is_number_only else BEGINS
