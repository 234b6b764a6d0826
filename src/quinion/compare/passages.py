"""Sections prepared for alignment: their encoded words, titles and enclosing sections."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq

from quinion.compare.similarity import Encoded, Vocabulary
from quinion.compare.words import WordedSection, label_of
from quinion.model.section import Kind

# Shorter texts are headings, or say too little to be recognized by their words.
SHORT = 8

_STOP = re.compile(r"[.;:?!]")

# Kinds that have a title and other sections inside them.
_TITLED = frozenset(
    {
        *(Kind.PART, Kind.CHAPTER, Kind.ANNEX, Kind.APPENDIX, Kind.SCHEDULE),
        *(Kind.SECTION, Kind.POLICY),
    }
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A section prepared for alignment. `around` has the places of the enclosing sections.

    `title` is the first line of a chapter, policy or annex, without its number, else empty.
    `clauses` are the sentences and list items that are long enough to be recognized.
    """

    ref: str
    path: tuple[str, ...]
    kind: Kind
    text: Encoded
    title: str
    around: tuple[int, ...]
    clauses: tuple[Encoded, ...]

    @property
    def is_short(self) -> bool:
        return len(self.text) < SHORT


def prepare(sections: Sequence[WordedSection], vocabulary: Vocabulary) -> list[Passage]:
    """Prepare the sections of one revision."""
    places: dict[tuple[str, ...], int] = {}
    for place, one in enumerate(sections):
        places.setdefault(one.section.path, place)
    passages = []
    for one in sections:
        path = one.section.path
        outer = (path[:depth] for depth in range(1, len(path)))
        around = tuple(places[path] for path in outer if path in places)
        kind = label_of(one.section.ref)[0]
        title = _title(one) if kind in _TITLED else ""
        text = vocabulary.encode(one.words.keys)
        clauses = _clauses(one, vocabulary)
        passages.append(Passage(one.section.ref, path, kind, text, title, around, clauses))
    return passages


def _title(one: WordedSection) -> str:
    """Return the words of the first line."""
    text = one.section.text
    end = len(text) - len(text.lstrip()) + len(text.strip().partition("\n")[0])
    pairs = zip(one.words.keys, one.words.spans, strict=True)
    return " ".join(key for key, span in pairs if span[1] <= end)


def _clauses(one: WordedSection, vocabulary: Vocabulary) -> tuple[Encoded, ...]:
    """Return the sentences and list items that are not short."""
    keys, spans = one.words.keys, one.words.spans
    stops = [
        place
        for place in range(1, len(keys))
        if _STOP.search(one.section.text, spans[place - 1][1], spans[place][0])
    ]
    bounds = zip([0, *stops], [*stops, len(keys)], strict=True)
    return tuple(vocabulary.encode(keys[a:b]) for a, b in bounds if b - a >= SHORT)


def title_similarity(one: str, other: str) -> float:
    """Return the share of words that two titles have in common, 0 to 1."""
    words, others = one.split(), other.split()
    return 2 * LCSseq.similarity(words, others) / max(1, len(words) + len(others))


def may_match(one: Passage, other: Passage) -> bool:
    """Check that two kinds of sections can be the same section: a footnote is never a chapter."""
    kinds = {one.kind, other.kind}
    if Kind.FOOTNOTE in kinds:
        return kinds <= {Kind.FOOTNOTE, Kind.PARA}
    return len(kinds) == 1 or kinds.isdisjoint({Kind.CONTENTS, Kind.FRONT})


def sort_key(sections: Sequence[WordedSection]) -> list[tuple[tuple[str, ...], str]]:
    """Return a key by which two different revisions always have the same order."""
    return [(one.section.path, one.section.text) for one in sections]
