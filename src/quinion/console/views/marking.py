"""Texts with the words of a query marked, and passages within the text of their page."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from quinion.lexical.tokens import analyse, find_tokens
from quinion.lexical.word_query import parse_query

_TOKEN = re.compile(r"[^\W_](?:\w|[-./:&'’](?=\w))*")
MAX_AROUND = 6_000
"""Characters shown before and after a passage."""
FIRST_CHARACTERS = 60
"""Where a passage begins is found by its first characters: it may end on the next page."""
SNIPPET_CHARACTERS = 240
LEAD_CHARACTERS = 60
"""Characters of a snippet before its first mark."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive characters, all marked or none."""

    text: str
    marked: bool = False


def mark_words(text: str, query: str) -> list[Piece]:
    """Mark the words of a text that have a stem in common with a word of the query."""
    wanted = {term for word in parse_query(query).words for term in word.terms}
    pieces: list[Piece] = []
    end = 0
    for match in _TOKEN.finditer(text):
        terms = {term for token in find_tokens(match[0]) for term in analyse(token)}
        if terms & wanted:
            pieces += _piece(text[end : match.start()])
            pieces.append(Piece(match[0], marked=True))
            end = match.end()
    return [*pieces, *_piece(text[end:])]


def cut_around(page: str, passage: str) -> tuple[str, str, str]:
    """Cut the text of a page before and after a passage; without a place, only the passage."""
    passage = passage.strip()
    start = page.find(passage[:FIRST_CHARACTERS])
    if start < 0:
        return "", passage, ""
    end = start + len(passage)
    return page[max(0, start - MAX_AROUND) : start], page[start:end], page[end : end + MAX_AROUND]


def cut_snippet(pieces: Sequence[Piece]) -> list[Piece]:
    """Cut the part of a text with the most marks, as long as a result shows."""
    ends = list(accumulate(len(piece.text) for piece in pieces))
    starts = [0, *ends[:-1]]
    marks = [start for start, piece in zip(starts, pieces, strict=True) if piece.marked]
    if not marks or ends[-1] <= SNIPPET_CHARACTERS:
        return list(pieces)
    best = max(marks, key=lambda at: sum(at <= one < at + SNIPPET_CHARACTERS for one in marks))
    first = starts.index(best)
    if best <= LEAD_CHARACTERS:
        return list(pieces)
    lead = "".join(piece.text for piece in pieces[:first])[-LEAD_CHARACTERS:]
    return [Piece("… " + lead.partition(" ")[2]), *pieces[first:]]


def _piece(text: str) -> list[Piece]:
    return [Piece(text)] if text else []
