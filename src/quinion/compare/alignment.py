"""Alignment of the sections of two revisions: which sections belong together.

Long sections with the same place and words are paired first, then those with the same words, then
similar ones, the most similar first. What remains is tried as a part of a section that has a
counterpart already (then that one was split, or several were merged), before sections with less in
common are paired; those with the least in common only next to others that are paired. A section
without a counterpart that has a sentence or list item of another one belongs to it. Headings come
last: they have few words, so the sections inside them decide.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from quinion.compare.clauses import find_shared_clauses, has_rival
from quinion.compare.passages import Passage, may_match, prepare, sort_key, title_similarity
from quinion.compare.similarity import Vocabulary, count_common, find_candidates
from quinion.compare.words import WordedSection
from quinion.model.section import Kind

_VERY_ALIKE, _ALIKE, _ALIKE_HEADING = 0.6, 0.4, 0.6
# Paragraphs with less in common: none is much more alike to either, and the second limit is for
# those in a chapter with several pairs, or at most this many sections from a pair.
_RELATED, _RELATED_NEAR = 0.27, 0.2
_ALMOST_BEST = 0.85
_AROUND, _SEVERAL = 8, 3
_AT_REF_LESS = 0.1
# How much of a part must be in the whole, and how much less may be in it besides the other parts.
_ALL_CONTAINED, _CONTAINED, _OVERLAP = 0.9, 0.75, 0.1
# The same for parts near a pair that have something in common with the whole.
_PARTLY_CONTAINED = (0.56, 0.26)
# The same for parts at most this many sections from the others.
_BESIDE, _STEPS = (0.35, 0.2), 2
# A clause that two sections share, and one that two paragraphs near a pair share. No clause of the
# counterparts found so far is as similar to it, less a margin.
_ALIKE_CLAUSE, _ALIKE_CLAUSE_NEAR = 0.57, 0.45
_RIVAL = 0.1
_AT_REF, _NEAR = 0.05, 0.03
_SAME_MEMBERS = 0.5
# More sections with the same few words ("Not used") are told apart by their place only.
_MOST_SAME = 20

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Group:
    """Sections that belong together, by their place on each side; one side may be empty."""

    before: tuple[int, ...]
    after: tuple[int, ...]


def align(before: Sequence[WordedSection], after: Sequence[WordedSection]) -> list[Group]:
    """Group the sections of two revisions; every section is in exactly one group.

    Exchanging the revisions exchanges the sides of the groups.
    """
    if sort_key(before) > sort_key(after):
        return [Group(group.after, group.before) for group in align(after, before)]
    vocabulary = Vocabulary([one.words.keys for one in (*before, *after)])
    sides = (prepare(side, vocabulary) for side in (before, after))
    return _Alignment(vocabulary, *sides).groups()


class _Alignment:
    """Pairs found so far, from both sides, and the parts that were attached to them."""

    def __init__(
        self, vocabulary: Vocabulary, before: Sequence[Passage], after: Sequence[Passage]
    ) -> None:
        self.vocabulary = vocabulary
        self.before, self.after = before, after
        self.forth: dict[int, int] = {}
        self.back: dict[int, int] = {}
        self.parts_after: dict[int, list[int]] = defaultdict(list)
        self.parts_before: dict[int, list[int]] = defaultdict(list)
        self._similarities: dict[Pair, float] = {}

    def groups(self) -> list[Group]:
        self._pair_same_place(short=False)
        self._pair_same_words()
        self._pair_same_title()
        candidates = self._candidates()
        same_kind = {pair for pair in candidates if not self._is_note_and_text(*pair)}
        for pairs, alike, contained in (
            (candidates, _VERY_ALIKE, _ALL_CONTAINED),
            (same_kind, _ALIKE, _CONTAINED),
        ):
            self._pair_similar(pairs, alike)
            self._attach_parts(self._by_length(pairs), contained, contained - _OVERLAP)
            self._pair_contained(same_kind, contained)
            self._attach_parts(self._by_length(pairs), contained, contained - _OVERLAP)
        self._pair_headings()
        self._pair_related(same_kind)
        self._pair_headings()
        near = self._list_near(candidates)
        self._attach_parts(near, *_PARTLY_CONTAINED)
        self._attach_parts(filter(self._is_beside_pair, near), *_BESIDE)
        self._attach_clauses()
        self._pair_same_place(short=True)
        return list(self._grouped())

    def _pair(self, before: int, after: int) -> None:
        self.forth[before], self.back[after] = after, before

    def _similarity(self, i: int, j: int) -> float:
        if (i, j) not in self._similarities:
            alike = self.vocabulary.similarity(self.before[i].text, self.after[j].text)
            self._similarities[i, j] = alike
        return self._similarities[i, j]

    def _pair_best(self, scored: Iterable[tuple[float, int, int]]) -> None:
        """Pair the best first; of equal ones, those whose places differ least."""
        for _, _, before, after in sorted((-s, abs(b - a), b, a) for s, b, a in scored):
            if before not in self.forth and after not in self.back:
                self._pair(before, after)

    def _free(self) -> tuple[list[int], list[int]]:
        """Return the sections of both sides without a counterpart."""
        taken_before = {part for parts in self.parts_before.values() for part in parts}
        taken_after = {part for parts in self.parts_after.values() for part in parts}
        return (
            [i for i in range(len(self.before)) if i not in self.forth and i not in taken_before],
            [j for j in range(len(self.after)) if j not in self.back and j not in taken_after],
        )

    def _free_pairs(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Return the pairs of which neither section has a counterpart."""
        left, right = map(set, self._free())
        return [(i, j) for i, j in pairs if i in left and j in right]

    def _pair_same_place(self, *, short: bool) -> None:
        """Pair sections with the same path and words, in their order."""
        places: dict[tuple[tuple[str, ...], str], list[int]] = defaultdict(list)
        left, right = self._free()
        for place in reversed(right):
            passage = self.after[place]
            places[passage.path, passage.text.code].append(place)
        for place in left:
            passage = self.before[place]
            found = places[passage.path, passage.text.code]
            if found and passage.is_short is short:
                self._pair(place, found.pop())

    def _pair_same_words(self) -> None:
        self._pair_unique(lambda passage: "" if passage.is_short else passage.text.code)

    def _pair_same_title(self) -> None:
        self._pair_unique(lambda passage: (passage.kind, passage.title) if passage.title else "")

    def _pair_unique(self, key_of: Callable[[Passage], object]) -> None:
        """Pair the sections whose key is unique on both sides; an empty key is none."""
        by_key: dict[object, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for side, passages in enumerate((self.before, self.after)):
            for place in self._free()[side]:
                if key := key_of(passages[place]):
                    by_key[key][side].append(place)
        for before, after in by_key.values():
            if len(before) == len(after) == 1:
                self._pair(before[0], after[0])

    def _candidates(self) -> set[Pair]:
        """Return the pairs that share rare words, and those with the same reference."""
        free = self._free()
        left, right = (
            [place for place in places if not side[place].is_short]
            for side, places in zip((self.before, self.after), free, strict=True)
        )
        # A section that has a counterpart may still have been split, or others merged into it.
        every_left = [i for i in range(len(self.before)) if not self.before[i].is_short]
        every_right = [j for j in range(len(self.after)) if not self.after[j].is_short]
        found = {*self._find(left, every_right), *self._find(every_left, right)}
        by_ref = {self.after[place].ref: place for place in right}
        found |= {(i, by_ref[self.before[i].ref]) for i in left if self.before[i].ref in by_ref}
        return {(i, j) for i, j in found if may_match(self.before[i], self.after[j])}

    def _is_note_and_text(self, i: int, j: int) -> bool:
        """Check for a footnote and a paragraph. They must be very alike: most footnotes cite."""
        return (self.before[i].kind is Kind.FOOTNOTE) != (self.after[j].kind is Kind.FOOTNOTE)

    def _find(self, left: Sequence[int], right: Sequence[int]) -> Iterator[Pair]:
        found = find_candidates(
            [self.before[i].text for i in left],
            [self.after[j].text for j in right],
            self.vocabulary.weights,
        )
        return ((left[i], right[j]) for i, j in found)

    def _pair_similar(self, candidates: Iterable[Pair], least: float) -> None:
        scored = []
        for i, j in self._free_pairs(candidates):
            one, other = self.before[i], self.after[j]
            alike = self._similarity(i, j)
            at_ref = one.ref == other.ref
            if alike >= least - (_AT_REF_LESS if at_ref else 0):
                scored.append((alike + _AT_REF * at_ref + _NEAR * self._is_near(i, j), i, j))
        self._pair_best(scored)

    def _is_near(self, i: int, j: int) -> int:
        """Count the neighbours and enclosing sections that are paired with each other."""
        around = zip(self.before[i].around[-1:], self.after[j].around[-1:], strict=False)
        near = [(i - 1, j - 1), (i + 1, j + 1), *around]
        return sum(self.forth.get(one, -1) == other for one, other in near)

    def _pair_related(self, candidates: Iterable[Pair]) -> None:
        """Pair paragraphs with little in common, if neither has much more with another section."""
        alike = {
            (i, j): self._similarity(i, j)
            for i, j in candidates
            if self.before[i].kind is self.after[j].kind is Kind.PARA
        }
        best: dict[tuple[bool, int], float] = defaultdict(float)
        for (i, j), share in alike.items():
            best[False, i] = max(best[False, i], share)
            best[True, j] = max(best[True, j], share)
        members = self._count_members()
        scored = []
        for i, j in self._free_pairs(alike):
            share = alike[i, j]
            least = _RELATED_NEAR if self._are_near(i, j, members) else _RELATED
            if share >= max(least, _ALMOST_BEST * max(best[False, i], best[True, j])):
                scored.append((share, i, j))
        self._pair_best(scored)

    def _are_near(self, i: int, j: int, members: Counter[Pair]) -> bool:
        """Check for a pair a few sections away, or several in the same enclosing sections."""
        enclosing = ((p, q) for p in self.before[i].around for q in self.after[j].around)
        if any(members[pair] >= _SEVERAL for pair in enclosing):
            return True
        around = range(i - _AROUND, i + _AROUND + 1)
        return any(abs(self.forth[k] - j) <= _AROUND for k in around if k in self.forth)

    def _list_near(self, candidates: Iterable[Pair]) -> list[Pair]:
        """List the candidates near a pair that have something in common, most alike first."""
        members = self._count_members()
        scored = [
            (-self._similarity(i, j), i, j) for i, j in candidates if self._are_near(i, j, members)
        ]
        return [(i, j) for unlike, i, j in sorted(scored) if -unlike >= _RELATED_NEAR]

    def _is_beside_pair(self, pair: Pair) -> bool:
        """Check that one section is a few sections from the counterpart of the other one."""
        i, j = pair
        if i in self.forth:
            return abs(self.forth[i] - j) <= _STEPS
        return abs(self.back.get(j, i + _STEPS + 1) - i) <= _STEPS

    def _pair_contained(self, candidates: Iterable[Pair], least: float) -> None:
        """Pair sections that were cut or extended to a multiple of their length."""
        scored = []
        for i, j in self._free_pairs(candidates):
            part, whole = sorted((self.before[i], self.after[j]), key=lambda one: len(one.text))
            share = self._containment(part, whole)
            if share >= least:
                scored.append((share * len(part.text), i, j))
        self._pair_best(scored)

    def _attach_parts(self, pairs: Iterable[Pair], contained: float, gained: float) -> None:
        """Attach what remains to the pairs that it is a part of, in this order."""
        free_before, free_after = map(set, self._free())
        for i, j in pairs:
            if j in free_after and i in self.forth and not self.parts_before[self.forth[i]]:
                parts = [self.forth[i], *self.parts_after[i]]
                if self._adds(self.before[i], self.after, parts, j, (contained, gained)):
                    self.parts_after[i].append(j)
                    free_after.remove(j)
            elif i in free_before and j in self.back and not self.parts_after[self.back[j]]:
                parts = [self.back[j], *self.parts_before[j]]
                if self._adds(self.after[j], self.before, parts, i, (contained, gained)):
                    self.parts_before[j].append(i)
                    free_before.remove(i)

    def _attach_clauses(self) -> None:
        """Pair or attach sections without a counterpart by a clause that they share."""
        members = self._count_members()
        sides = self.before, self.after
        for shared in find_shared_clauses(sides, self._free(), self.vocabulary, _ALIKE_CLAUSE_NEAR):
            i, j = shared.before, shared.after
            is_near = self._are_near(i, j, members) and not self._is_note_and_text(i, j)
            if shared.similarity < _ALIKE_CLAUSE and not is_near:
                continue
            left, right = self._free()
            known_before = [self.back[j], *self.parts_before[j]] if j in self.back else []
            known_after = [self.forth[i], *self.parts_after[i]] if i in self.forth else []
            known = known_before, known_after
            if has_rival(shared, sides, known, self.vocabulary, _RIVAL):
                continue
            if i in left and j in right:
                self._pair(i, j)
            elif j in right and known_after and not self.parts_before[known_after[0]]:
                self.parts_after[i].append(j)
            elif i in left and known_before and not self.parts_after[known_before[0]]:
                self.parts_before[j].append(i)

    def _by_length(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Sort pairs by the length of the shorter section, longest first."""
        return sorted(
            sorted(pairs),
            key=lambda pair: -min(len(self.before[pair[0]].text), len(self.after[pair[1]].text)),
        )

    def _adds(
        self,
        whole: Passage,
        side: Sequence[Passage],
        parts: Sequence[int],
        new: int,
        least: tuple[float, float],
    ) -> bool:
        """Check that a section has words of the whole that the parts found so far do not have."""
        if len(parts) == 1 and side[parts[0]].title and side[parts[0]].is_short:
            return self._is_text_below(side[new], whole)
        contained, gained = least
        part = side[new]
        if part.title or self.vocabulary.shared_share(part.text, whole.text) < contained:
            return False
        code = whole.text.code
        known = "".join(side[place].text.code for place in sorted(parts))
        with_part = (known + part.text.code, part.text.code + known)
        gain = max(count_common(code, one) for one in with_part) - count_common(code, known)
        return gain >= gained * min(len(part.text), len(whole.text))

    def _is_text_below(self, part: Passage, whole: Passage) -> bool:
        """Check that a paragraph below a bare title stands in the other title's section."""
        return not part.title and self.vocabulary.similarity(part.text, whole.text) >= _ALIKE

    def _containment(self, part: Passage, whole: Passage) -> float:
        """Return the share of a section's words that are in another one; a title is no part."""
        return 0.0 if part.title else self.vocabulary.containment(part.text, whole.text)

    def _pair_headings(self) -> None:
        """Pair short sections by their words, their place, and the sections inside them."""
        members = self._count_members()
        sizes = [
            Counter(outer for one in side for outer in one.around)
            for side in (self.before, self.after)
        ]
        scored = []
        for i, j in self._heading_candidates(members):
            one, other = self.before[i], self.after[j]
            alike = max(self._similarity(i, j), title_similarity(one.title, other.title))
            share = members[i, j] / max(1, sizes[0][i], sizes[1][j])
            near, at_place = self._is_near(i, j), one.path == other.path
            is_same = alike == 1.0 and (near or at_place or share)
            if is_same or share > _SAME_MEMBERS or (alike >= _ALIKE_HEADING and (near or share)):
                scored.append((alike + share + _AT_REF * at_place + _NEAR * near, i, j))
        self._pair_best(scored)

    def _heading_candidates(self, members: Iterable[Pair]) -> set[Pair]:
        """Return pairs with the same words, next to paired ones, or with members in common."""
        left, right = map(set, self._free())
        by_words: dict[str, list[int]] = defaultdict(list)
        for j in right:
            by_words[self.after[j].text.code].append(j)
        found = set(members)
        for i in left:
            same = by_words[self.before[i].text.code]
            found.update((i, j) for j in same if len(same) <= _MOST_SAME)
            found |= {(i, self.forth.get(i - 1, -2) + 1), (i, self.forth.get(i + 1, 0) - 1)}
        return {
            (i, j) for i, j in self._free_pairs(found) if may_match(self.before[i], self.after[j])
        }

    def _count_members(self) -> Counter[Pair]:
        """Count, for two enclosing sections, the pairs with one section inside each."""
        return Counter(
            (p, q)
            for i, j in self.forth.items()
            for p in self.before[i].around
            for q in self.after[j].around
            if self.before[p].kind is self.after[q].kind
        )

    def _grouped(self) -> Iterator[Group]:
        for i, j in self.forth.items():
            yield Group(
                tuple(sorted([i, *self.parts_before[j]])),
                tuple(sorted([j, *self.parts_after[i]])),
            )
        left, right = self._free()
        yield from (Group((i,), ()) for i in left)
        yield from (Group((), (j,)) for j in right)
