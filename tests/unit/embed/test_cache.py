"""The cache of vectors is exact, bounded by its capacity, and thread-safe."""

from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quinion.embed.base import Vectors
from quinion.embed.cache import EmbeddingCache

DIMENSIONS = 4
TEXTS = st.text(st.sampled_from("ab\ud800é"), max_size=3)


def vector_of(text: str, number: int = 0) -> Vectors:
    values = np.random.default_rng([number, *text.encode(errors="surrogatepass")])
    return values.normal(size=DIMENSIONS).astype(np.float32)


def vectors_of(texts: Sequence[str], number: int = 0) -> Vectors:
    rows = np.empty((len(texts), DIMENSIONS), np.float32)
    for row, text in enumerate(texts):
        rows[row] = vector_of(text, number)
    return rows


@given(
    capacity=st.integers(1, 4),
    steps=st.lists(st.tuples(st.booleans(), st.lists(TEXTS, max_size=6, unique=True))),
)
def test_it_keeps_the_most_recently_used(
    capacity: int, steps: list[tuple[bool, list[str]]]
) -> None:
    cache, expected = EmbeddingCache(capacity, DIMENSIONS), OrderedDict[str, Vectors]()
    for number, (keeps, texts) in enumerate(steps):
        if keeps:
            cache.put(texts, vectors_of(texts, number))
            for text in texts:
                expected[text] = vector_of(text, number)
                expected.move_to_end(text)
                if len(expected) > capacity:
                    expected.popitem(last=False)
        else:
            found = cache.get(texts)
            known = [text for text in texts if text in expected]
            assert list(found) == known
            for text in known:
                np.testing.assert_array_equal(found[text], expected[text])
                expected.move_to_end(text)


def test_a_cached_vector_is_a_copy() -> None:
    cache = EmbeddingCache(1, DIMENSIONS)
    cache.put(["a"], vectors_of(["a"]))
    cache.get(["a"])["a"][:] = 0
    np.testing.assert_array_equal(cache.get(["a"])["a"], vector_of("a"))


def test_many_threads_never_get_the_vector_of_another_text() -> None:
    cache = EmbeddingCache(16, DIMENSIONS)
    texts = [str(number) for number in range(40)]
    vectors = {text: vector_of(text) for text in texts}

    def use(seed: int) -> int:
        random, recalled = Random(seed), 0
        for _ in range(300):
            some = random.sample(texts, 8)
            found = cache.get(some)
            for text, vector in found.items():
                np.testing.assert_array_equal(vector, vectors[text])
            recalled += len(found)
            missing = [text for text in some if text not in found]
            cache.put(missing, vectors_of(missing))
        return recalled

    with ThreadPoolExecutor(8) as pool:
        assert all(recalled > 0 for recalled in pool.map(use, range(8)))
