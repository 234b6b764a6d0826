"""Cache of postings: by version, and of limited size."""

import threading
from collections.abc import Mapping

import numpy as np
import pytest

from quinion.store.keywords import postings_cache
from quinion.store.keywords.postings import POSTING, Postings
from quinion.store.keywords.postings_cache import PostingsCache


def postings(count: int) -> Postings:
    return Postings(np.zeros(count, POSTING), [0], [count], 16_384)


class Index:
    """What `read` reads: for each term, postings; and which terms it was asked for."""

    def __init__(self, **terms: int) -> None:
        self.terms = {term: postings(count) for term, count in terms.items()}
        self.read_terms: list[list[str]] = []

    def read(self, terms: list[str]) -> Mapping[str, Postings]:
        self.read_terms.append(terms)
        return {term: self.terms[term] for term in terms if term in self.terms}


def test_terms_are_read_once_for_each_version_and_collection() -> None:
    cache, index = PostingsCache(), Index(flood=3, risk=2)
    assert cache.read(1, 1, ["flood", "none"], index.read) == {"flood": index.terms["flood"]}
    assert cache.read(1, 1, ["risk", "flood"], index.read) == index.terms
    assert cache.read(1, 2, ["flood"], index.read) == {"flood": index.terms["flood"]}
    assert cache.read(2, 2, ["flood"], index.read) == {"flood": index.terms["flood"]}
    assert index.read_terms == [["flood", "none"], ["risk"], ["flood"], ["flood"]]


def test_a_reader_of_an_older_version_gets_and_leaves_its_own() -> None:
    cache, old, new = PostingsCache(), Index(flood=1), Index(flood=2)
    cache.read(1, 2, ["flood"], new.read)
    assert len(cache.read(1, 1, ["flood"], old.read)["flood"]) == 1
    assert len(cache.read(1, 2, ["flood"], new.read)["flood"]) == 2
    assert new.read_terms == [["flood"]]


def test_the_terms_that_were_not_used_longest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings_cache, "MAX_BYTES", 10_000)
    cache, index = PostingsCache(), Index(a=1_000, b=1_000, c=1_000, large=5_000)
    for term in ("a", "b", "a", "c"):
        cache.read(1, 1, [term], index.read)
    index.read_terms.clear()
    for term in ("a", "c", "b", "large", "large", "b"):
        cache.read(1, 1, [term], index.read)
    assert index.read_terms == [["b"], ["large"], ["large"], ["b"]]


def test_a_dropped_collection_is_forgotten() -> None:
    cache, index = PostingsCache(), Index(a=1)
    for number in (1, 2):
        cache.read(number, 1, ["a"], index.read)
    cache.drop(1)
    index.read_terms.clear()
    for number in (1, 2):
        cache.read(number, 1, ["a"], index.read)
    assert index.read_terms == [["a"]]


def test_many_threads_read_and_evict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings_cache, "MAX_BYTES", 3_000)
    cache, index = PostingsCache(), Index(**{f"t{n}": n for n in range(20)})
    wrong: list[str] = []

    def read(seed: int) -> None:
        dice = np.random.default_rng(seed)
        for turn in range(500):
            term = f"t{dice.integers(20)}"
            if cache.read(1, turn // 100, [term], index.read) != {term: index.terms[term]}:
                wrong.append(term)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
