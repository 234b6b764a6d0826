"""Merged results: neighbours as one text, each text once, no chunk of a few words alone."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.chunk.recursive import Sizes, chunk_pages
from quinion.model.page import Method, Page
from quinion.model.record import Hit, Match, Merged, Record, Scalar
from quinion.search.merge import Merging, append, find_below, merge

DOCUMENTS = Merging(document=("document_id",), overlap=True)
FILES = Merging(document=("source_file",))
TEXT = (
    "Cycle parking is provided for all residents of the new homes. Two hundred covered spaces are "
    "placed at the entrances. Visitors find further stands in the square. The travel plan is "
    "reviewed after one year, and the council receives a report. Buses stop at the station."
)
OTHER = "Drainage follows the natural slope of the land, and attenuation tanks hold the rain."
WORDS = " ".join(f"word{n}" for n in range(100))
ALL = 100


def hit(id_: str, text: str, score: float = 0.5, **metadata: Scalar) -> Hit:
    return Hit(Record(id_, text, metadata), score, Match(score, (id_,)))


def chunks(text: str = TEXT, document: str = "d", size: int = 120, overlap: int = 80) -> list[Hit]:
    pages = [Page(1, text[: len(text) // 2], Method.TEXT_LAYER)]
    pages += [Page(2, text[len(text) // 2 :], Method.TEXT_LAYER)]
    return [
        hit(
            f"{document}{one.index}",
            one.text,
            0.9 - one.index / 100,
            document_id=document,
            chunk_index=one.index,
            char_start=one.start,
            page_numbers=",".join(map(str, one.pages)),
            char_count=len(one.text),
            word_count=one.word_count,
        )
        for one in chunk_pages(pages, Sizes(size, overlap))
    ]


def ids(hits: Sequence[Hit]) -> list[tuple[str, ...]]:
    return [one.merged.ids for one in hits if one.merged]


def without_start(one: Hit) -> Hit:
    """A chunk that another program has written, with the contract's metadata only."""
    known = {key: value for key, value in one.record.metadata.items() if key != "char_start"}
    return Hit(Record(one.record.id, one.record.text, known), one.score, one.match)


@pytest.mark.parametrize("is_ours", [True, False])
def test_overlapping_neighbours_are_one_result_without_repetition(is_ours: bool) -> None:
    made = chunks() if is_ours else [*map(without_start, chunks())]
    first, second = next(
        pair for pair in pairwise(made) if pair[0].record.text[-25:] in pair[1].record.text
    )
    [found] = merge([second, first], DOCUMENTS, ALL)
    whole = TEXT[: len(TEXT) // 2] + "\n\n" + TEXT[len(TEXT) // 2 :]
    assert found.record.text in whole
    assert found.record.text.startswith(first.record.text)
    assert found.record.text.endswith(second.record.text)
    assert found.record.id == second.record.id
    assert (found.score, found.match) == (
        second.score,
        Match(second.score, (first.record.id, second.record.id)),
    )
    assert found.merged
    assert found.merged.ids == (first.record.id, second.record.id)
    metadata = found.record.metadata
    assert metadata["page_numbers"] == ",".join(map(str, found.merged.pages))
    assert metadata["char_count"] == len(found.record.text)
    assert metadata["word_count"] == len(found.record.text.split())


def test_a_chunk_between_two_results_joins_them_at_the_place_of_the_better_one() -> None:
    made = chunks(WORDS, size=100, overlap=40)
    run = next(
        three
        for three in zip(made, made[1:], made[2:], strict=False)
        if all(a.record.text[-30:] in b.record.text for a, b in pairwise(three))
    )
    other = chunks(OTHER, "e")[0]
    found = merge([run[2], other, run[0], run[1]], DOCUMENTS, ALL)
    assert ids(found) == [tuple(one.record.id for one in run), (other.record.id,)]
    assert found[0].record.id == run[2].record.id


def test_neighbours_that_do_not_overlap_and_other_documents_stay_apart() -> None:
    one, two = chunks(OTHER, "e"), chunks(TEXT, "d")
    apart = [one[0], two[0], two[3]]
    assert ids(merge(apart, DOCUMENTS, ALL)) == [(each.record.id,) for each in apart]
    texts = [hit(f"f{n}", TEXT[n * 90 : n * 90 + 90] + ".", chunk_index=n) for n in range(2)]
    assert len(merge(texts, FILES, ALL)) == 2


@given(st.permutations(range(8)), st.integers(1, 8))
def test_every_hit_above_the_limit_is_in_one_result(order: list[int], limit: int) -> None:
    made = [*chunks(TEXT * 2), *chunks(OTHER, "e")][:8]
    hits = [made[n] for n in order if n < len(made)]
    found = merge(hits, DOCUMENTS, limit)
    assert len(found) <= limit
    listed = [
        id_ for one in found if one.merged for id_ in (*one.merged.ids, *one.merged.same_text)
    ]
    assert len(listed) == len(set(listed))
    known = [one.record.id for one in hits]
    if limit == len(hits):
        assert sorted(listed) == sorted(known)
    assert found[0].record.id == known[0]


def test_the_same_passage_in_two_files_is_shown_once() -> None:
    first = hit("a", TEXT, document_id="a")
    again = hit("b", f"{TEXT} Appendix.", document_id="b")
    changed = hit("c", TEXT.replace("Two hundred", "250"), document_id="c")
    longer = hit("d", f"{TEXT} {OTHER} {OTHER[::-1]}", document_id="d")
    found = merge([first, again, changed, longer], DOCUMENTS, ALL)
    assert [one.record.id for one in found] == ["a", "c", "d"]
    assert [one.merged.same_text for one in found if one.merged] == [("b",), (), ()]


def test_revisions_have_the_same_text_only_if_each_word_is_the_same() -> None:
    old = hit("old", TEXT, revision_id="1")
    same = hit("same", TEXT.replace(" ", "  "), revision_id="2")
    other = hit("other", TEXT.replace("reviewed", "repeated"), revision_id="3")
    assert [one.record.id for one in merge([old, same, other], DOCUMENTS, ALL)] == ["old", "other"]


def test_an_element_is_shown_beside_the_chunk_with_its_text() -> None:
    found = merge([hit("a", TEXT, kind="text"), hit("b", TEXT, kind="table")], Merging(), ALL)
    assert len(found) == 2


@pytest.mark.parametrize("text", ["54", "Page 54 of 82", "- xii -", "p. 3"])
def test_a_page_number_is_not_a_result(text: str) -> None:
    assert merge([hit("a", text), hit("b", TEXT)], FILES, 1)[0].record.id == "b"


def test_a_heading_is_joined_to_the_chunk_below_it() -> None:
    heading = hit("h", "9. Sustainable transport", source_file="f", chunk_index=3, page_number=4)
    below = hit("b", TEXT, source_file="f", chunk_index=4, page_number=5)
    for order in ([heading, below], [below, heading]):
        [found] = merge(order, FILES, ALL)
        assert found.record.text == f"9. Sustainable transport\n{TEXT}"
        assert found.merged == Merged(("h", "b"), (4, 5))
    [alone] = merge([heading], FILES, ALL)
    assert find_below(alone, FILES) == {"source_file": "f", "chunk_index": 4}
    assert append(alone, below.record).merged == Merged(("h", "b"), (4, 5))
    assert append(alone, below.record).record.text == f"9. Sustainable transport\n{TEXT}"


@pytest.mark.parametrize(
    "one",
    [
        hit("a", "Cover the pipes.", source_file="f", chunk_index=1),
        hit("a", TEXT, source_file="f", chunk_index=1),
        hit("a", "A heading", source_file="f"),
        hit("a", "A heading", chunk_index=1),
        hit("a", "A heading", source_file="f", chunk_index="x"),
    ],
)
def test_sentences_and_chunks_without_a_known_place_stay_alone(one: Hit) -> None:
    assert find_below(one, FILES) is None
    assert ids(merge([one], FILES, ALL)) == [("a",)]
