"""Short queries that a text contains word for word ("50 homes", a name): such texts come first.

BM25 does not know the order of words: a chunk with each word several times, far from each other,
may have a higher score than the only one with both together.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from quinion.lexical.word_query import WordQuery
from quinion.model.record import Hit, Match
from quinion.search.fusion import MAX_SHORT

VERBATIM = 0.5
"""What is added to the score of a text with the query, relative to the best score."""
MAX_WORDS = 8
MAX_CHARACTERS = 200
_JOINT = r"[\W_]{1,3}"
_WORD = re.compile(r"[^\W_]+")


def find_pattern(query: str, words: WordQuery) -> re.Pattern[str] | None:
    """Compile a pattern for the words of a short query in a text, or none for another query."""
    found = _WORD.findall(query[:MAX_CHARACTERS])
    if not (1 < len(found) <= MAX_WORDS and 0 < words.content_words <= MAX_SHORT):
        return None
    return re.compile(rf"(?<![^\W_]){_JOINT.join(found)}(?![^\W_])", re.IGNORECASE)


def promote_verbatim(hits: Sequence[Hit], pattern: re.Pattern[str]) -> list[Hit]:
    """Raise the scores of the hits whose text has the words, and sort by score."""
    best = max((hit.match.score for hit in hits if hit.match), default=0.0)
    raised = [
        replace(hit, match=Match(hit.match.score + VERBATIM * best, hit.match.words))
        if hit.match and pattern.search(hit.record.text)
        else hit
        for hit in hits
    ]
    return sorted(raised, key=lambda hit: -hit.match.score if hit.match else 0.0)
