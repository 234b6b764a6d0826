"""Search by words over plain lists, as the store interface specifies it."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from quinion.lexical.spelling import MAX_SIMILAR, find_variants, has_variants
from quinion.lexical.tokens import find_terms, stem
from quinion.lexical.word_query import QueryWord, WordQuery
from quinion.model.record import Hit, Match, Record, read_context
from quinion.store.base import Candidates, Rank, Vectors
from quinion.store.filters import Where, matches

K1, B = 1.2, 0.75


def search(
    records: Sequence[Record],
    vectors: Vectors,
    query: WordQuery,
    vector: Vectors,
    limit: int,
    rank: Rank,
    nearest: int,
    where: Where,
) -> list[Hit]:
    if not records:
        return []
    vector = vector.ravel()
    cosines = np.vecdot(vectors, vector)
    texts = [f"{read_context(record.metadata)}\n{record.text}" for record in records]
    counts = [Counter(find_terms(text)) for text in texts]
    scores, words = score(counts, query)
    matching = [n for n, one in enumerate(records) if matches(one.metadata, where)]
    by_words = sorted((n for n in matching if scores[n] > 0), key=lambda n: (-scores[n], n))
    chosen = [n for n in by_words if all(phrase.is_in(texts[n]) for phrase in query.phrases)]
    chosen = chosen[: max(limit, nearest)]
    if nearest and not (query.phrases and chosen):
        by_vector = sorted(matching, key=lambda n: (-cosines[n], n))[:nearest]
        chosen = sorted({*by_words[: max(limit, nearest)], *by_vector})
    if not chosen:
        return []
    mean = float(vectors.mean(axis=0) @ vector)
    chosen.sort()
    ranked = rank(Candidates(cosines[chosen], np.array(scores, np.float32)[chosen], mean))
    best = sorted(zip(-ranked, chosen, strict=True))[:limit]
    return [
        Hit(records[n], float(np.clip(cosines[n], 0, 1)), Match(-float(s), words[n]))
        for s, n in best
    ]


def score(
    counts: Sequence[Counter[str]], query: WordQuery
) -> tuple[list[float], list[tuple[str, ...]]]:
    """Compute the BM25 score of each record, and the words that it contains."""
    average = sum(one.total() for one in counts) / len(counts)
    scores = [0.0] * len(counts)
    words: list[tuple[str, ...]] = [()] * len(counts)
    for word in query.words:
        terms = find_word(counts, word)
        for term in terms:
            having = [n for n, one in enumerate(counts) if term in one]
            rarity = math.log1p((len(counts) - len(having) + 0.5) / (len(having) + 0.5))
            for n in having:
                count = min(counts[n][term], 255)
                norm = K1 * (1 - B + B * counts[n].total() / max(average, 1.0))
                scores[n] += rarity * (K1 + 1) * count / (count + norm)
        for n, one in enumerate(counts):
            if any(term in one for term in terms):
                words[n] += (word.word,)
    return scores, words


def find_word(counts: Sequence[Counter[str]], word: QueryWord) -> Sequence[str]:
    """Find the terms of a word, or similar ones if there are none."""
    frequencies = Counter(term for one in counts for term in one)
    if any(term in frequencies for term in word.terms) or not has_variants(word.word):
        return word.terms
    begins = [term for term in frequencies if term.startswith(stem(word.word))]
    similar = begins or [term for term in find_variants(word.word) if term in frequencies]
    return sorted(similar, key=lambda term: (-frequencies[term], term))[:MAX_SIMILAR]
