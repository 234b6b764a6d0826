"""Misread letters, told from changes by the author.

A page from OCR has a wrong letter in one word of a hundred. A replaced word is taken for misread if
it differs by few letters from the other revision's word and is a word that the other revision
nowhere has, or if it differs only in shapes that are easily confused (`rn` and `m`). Another ending
(`site`, `sites`) is a change. This is done only if there are so many such words that one side must
have been read by OCR: an author changes `adopt` to `adapt` once, not on every page.
"""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from rapidfuzz.distance import Levenshtein

# Misread words among the words that were compared, from which on a side counts as read by OCR.
MISREAD_SHARE = 0.002
MISREAD_AT_LEAST = 10

_SHORTEST = 4
_LETTERS_PER_ERROR = 4
_MOST_WORDS = 4

_SHAPES = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "8": "b", "2": "z"})
_ENDINGS = re.compile(r"(?:s|es|d|ed|r|er|ing|ly|al|y|ies|ied|n|en)?")


def looks_misread(
    before: Sequence[str],
    after: Sequence[str],
    vocabulary_before: AbstractSet[str],
    vocabulary_after: AbstractSet[str],
) -> bool:
    """Check whether replaced words look like the same words with misread letters."""
    if not before or not after or max(len(before), len(after)) > _MOST_WORDS:
        return False
    one, other = "".join(before), "".join(after)
    if _is_number(one) and _is_number(other):
        return False
    if _shape(one) == _shape(other):
        return True
    if min(len(one), len(other)) < _SHORTEST or _is_inflected(one, other):
        return False
    unknown = any(w not in vocabulary_after for w in before) or any(
        w not in vocabulary_before for w in after
    )
    errors = max(1, min(len(one), len(other)) // _LETTERS_PER_ERROR)
    return unknown and Levenshtein.distance(one, other, score_cutoff=errors) <= errors


def _shape(word: str) -> str:
    """Replace letters by one of those that look like them."""
    return word.translate(_SHAPES).replace("rn", "m").replace("vv", "w").replace("cl", "d")


def _is_number(word: str) -> bool:
    return word.strip("£$€%").replace(".", "").isdigit()


def _is_inflected(one: str, other: str) -> bool:
    """Check whether two words differ in their endings or by a prefix only."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    if (
        start >= _SHORTEST - 1
        and _ENDINGS.fullmatch(one[start:])
        and _ENDINGS.fullmatch(other[start:])
    ):
        return True
    return one.endswith(other) or other.endswith(one)
