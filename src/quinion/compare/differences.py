"""Differences between two texts, by words.

Words are compared in the form of `words.py`. Words with the same letters are no difference, however
they are hyphenated or broken (`decision-making`, `decision making`, `decisionmaking`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq

from quinion.model.comparison import Flag

# A change of several words is one difference, even if a short word between them is the same.
_SHORT_RUN = 2
_LONG_CHANGE = 3

OBLIGATIONS = frozenset(
    {
        *("must", "shall", "should", "ought", "may", "might", "can", "could", "will", "would"),
        *("not", "no", "nor", "never", "none", "cannot", "without", "only", "unless", "except"),
        *("required", "require", "requires", "prohibited", "refused", "refuse", "permitted"),
    }
)
_EITHER = frozenset({"and", "or"})
_MONTHS = frozenset(
    {
        *("january", "february", "march", "april", "june", "july", "august", "september"),
        *("october", "november", "december"),
    }
)
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_DAY = re.compile(r"\d{1,2}(?:st|nd|rd|th)?")
_NUMBER = re.compile(r"[£$€]?\d+(?:[.:/]\d+)*%?")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Words `before[b_start:b_end]` that were replaced by `after[a_start:a_end]`."""

    b_start: int
    b_end: int
    a_start: int
    a_end: int

    @property
    def size(self) -> int:
        return self.b_end - self.b_start + self.a_end - self.a_start


def find_hunks(before: Sequence[str], after: Sequence[str]) -> list[Hunk]:
    """Find the words that differ, in their order. Exchanging the texts exchanges the sides."""
    if list(before) > list(after):
        return [Hunk(h.a_start, h.a_end, h.b_start, h.b_end) for h in find_hunks(after, before)]
    hunks: list[Hunk] = []
    for code in LCSseq.opcodes(before, after):
        if code.tag == "equal":
            continue
        hunk = Hunk(code.src_start, code.src_end, code.dest_start, code.dest_end)
        if hunks and (hunks[-1].b_end, hunks[-1].a_end) == (hunk.b_start, hunk.a_start):
            last = hunks.pop()
            hunk = Hunk(last.b_start, hunk.b_end, last.a_start, hunk.a_end)
        hunks.append(hunk)
    return [hunk for hunk in hunks if not _has_same_letters(before, after, hunk)]


def merge_hunks(hunks: Sequence[Hunk]) -> Iterator[Hunk]:
    """Merge long changes with one or two equal words between them."""
    last: Hunk | None = None
    for hunk in hunks:
        if last is not None and hunk.b_start - last.b_end == hunk.a_start - last.a_end:
            run = hunk.b_start - last.b_end
            if run <= _SHORT_RUN and min(last.size, hunk.size) >= _LONG_CHANGE:
                last = Hunk(last.b_start, hunk.b_end, last.a_start, hunk.a_end)
                continue
        if last is not None:
            yield last
        last = hunk
    if last is not None:
        yield last


def find_flags(before: Sequence[str], after: Sequence[str]) -> tuple[Flag, ...]:
    """Find what matters in law among words that were replaced."""
    removed, added = Counter(before), Counter(after)
    changed = (removed - added) + (added - removed)
    found = set()
    if any(_is_date(word, words) for words in (before, after) for word in words if word in changed):
        found.add(Flag.DATE)
    if any(_NUMBER.fullmatch(word) for word in changed) and Flag.DATE not in found:
        found.add(Flag.NUMBER)
    either = _EITHER & set(changed)
    if OBLIGATIONS & set(changed) or (either == _EITHER and len(before) == len(after)):
        found.add(Flag.OBLIGATION)
    return tuple(flag for flag in Flag if flag in found)


def _has_same_letters(before: Sequence[str], after: Sequence[str], hunk: Hunk) -> bool:
    one = before[hunk.b_start : hunk.b_end]
    other = after[hunk.a_start : hunk.a_end]
    if "".join(one) != "".join(other):
        return False
    return [w for w in one if _NUMBER.fullmatch(w)] == [w for w in other if _NUMBER.fullmatch(w)]


def _is_date(word: str, words: Sequence[str]) -> bool:
    """Check for a month or a year. `may` is a month only next to a number."""
    if word in _MONTHS or _YEAR.fullmatch(word):
        return True
    place = list(words).index(word)
    near = [*words[max(0, place - 1) : place], *words[place + 1 : place + 2]]
    if word == "may":
        return any(one.isdigit() for one in near)
    return _DAY.fullmatch(word) is not None and any(one in _MONTHS for one in near)
