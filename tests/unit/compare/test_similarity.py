"""Similarity of sections, and candidates for a closer look."""

from quinion.compare.similarity import Vocabulary, count_common, find_candidates

OLD = [
    "windfall",
    "sites",
    "need",
    "compelling",
    "evidence",
    "of",
    "a",
    "reliable",
    "source",
    "of",
    "supply",
]
NEW = [
    "windfall",
    "sites",
    "need",
    "strong",
    "evidence",
    "of",
    "a",
    "reliable",
    "supply",
    "of",
    "land",
]
OTHER = [
    "the",
    "setting",
    "of",
    "a",
    "listed",
    "building",
    "deserves",
    "great",
    "weight",
    "in",
    "every",
    "decision",
]


def test_a_reworded_text_is_more_similar_than_another_one() -> None:
    vocabulary = Vocabulary([OLD, NEW, OTHER])
    old, new, other = map(vocabulary.encode, (OLD, NEW, OTHER))
    assert vocabulary.similarity(old, old) == 1.0
    assert vocabulary.similarity(old, new) > 0.5
    assert vocabulary.similarity(old, other) < 0.3
    assert vocabulary.similarity(old, new) == vocabulary.similarity(new, old)


def test_a_part_is_contained_in_the_whole() -> None:
    vocabulary = Vocabulary([OLD, OLD[3:8], OTHER])
    old, part, other = map(vocabulary.encode, (OLD, OLD[3:8], OTHER))
    assert vocabulary.containment(part, old) == 1.0
    assert vocabulary.containment(part, other) < 0.5


def test_an_empty_text_is_similar_to_an_empty_one_only() -> None:
    vocabulary = Vocabulary([[], OLD])
    empty, old = vocabulary.encode([]), vocabulary.encode(OLD)
    assert vocabulary.similarity(empty, empty) == 1.0
    assert vocabulary.similarity(empty, old) == 0.0
    assert vocabulary.containment(empty, old) == 0.0


def test_common_words_count_in_their_order() -> None:
    vocabulary = Vocabulary([["a", "b", "c"], ["c", "a", "b"]])
    one, other = vocabulary.encode(["a", "b", "c"]), vocabulary.encode(["c", "a", "b"])
    assert count_common(one.code, other.code) == 2


def test_candidates_are_found_across_blocks() -> None:
    texts = [[f"word{n}", f"other{n}", "the"] for n in range(1200)]
    vocabulary = Vocabulary(texts)
    encoded = [vocabulary.encode(words) for words in texts]
    found = find_candidates(encoded, encoded[::-1], vocabulary.weights)
    assert found == {(n, 1199 - n) for n in range(1200)}


def test_a_vocabulary_may_be_larger_than_the_characters_below_the_surrogates() -> None:
    words = [f"w{n}" for n in range(60_000)]
    vocabulary = Vocabulary([words])
    assert len(set(vocabulary.encode(words).code)) == 60_000


def test_no_sections_have_no_candidates() -> None:
    assert find_candidates([], [], {}) == set()
