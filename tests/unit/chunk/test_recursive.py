from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from quinion.chunk.recursive import Chunker, Sizes, chunk_pages, join_pages, split
from quinion.model.page import Method, Page

PIECES = ["a", "word ", "b" * 90, " ", "\n", "\n\n", ". ", "! ", "? ", "; ", ", ", "é\u00a0", "。"]
texts = st.lists(st.sampled_from(PIECES), max_size=200).map("".join)


def pages_of(*texts: str) -> list[Page]:
    return [Page(number, text, Method.TEXT_LAYER) for number, text in enumerate(texts, 1)]


@given(texts)
def test_no_character_but_white_space_is_lost(text: str) -> None:
    covered = {place for start, end in split(text, Sizes(100, 25)) for place in range(start, end)}
    assert all(text[place].isspace() for place in range(len(text)) if place not in covered)


@given(texts)
def test_chunks_are_in_order_within_the_size_and_without_white_space_at_their_ends(
    text: str,
) -> None:
    spans = split(text, Sizes(100, 25))
    assert spans == sorted(spans)
    for start, end in spans:
        assert 0 < end - start <= 100
        assert text[start:end] == text[start:end].strip()


@given(texts)
def test_neighbours_overlap_by_at_most_the_overlap(text: str) -> None:
    spans = split(text, Sizes(100, 25))
    for (_, end), (start, _) in pairwise(spans):
        assert end - start <= 25


def test_a_text_splits_at_its_coarsest_separator_first() -> None:
    text = "one two. three four\n\nfive six. seven"
    assert [text[a:b] for a, b in split(text, Sizes(20, 0))] == [
        "one two. three four",
        "five six. seven",
    ]


def test_a_separator_stays_with_the_chunk_before_it() -> None:
    text = "First sentence here. Second sentence here"
    assert [text[a:b] for a, b in split(text, Sizes(25, 0))] == [
        "First sentence here.",
        "Second sentence here",
    ]


def test_a_word_longer_than_a_chunk_is_cut_by_characters() -> None:
    assert split("x" * 250, Sizes(100, 20)) == [(0, 100), (80, 180), (160, 250)]


def test_a_chunk_names_exactly_the_pages_that_it_lies_on() -> None:
    pages = pages_of("alpha " * 20, "", "beta " * 20, "gamma")
    for chunk in chunk_pages(pages, Sizes(100, 0)):
        on_it = tuple(page.number for page in pages if page.text and page.text[:4] in chunk.text)
        assert chunk.pages == on_it


def test_a_chunk_over_a_page_break_names_both_pages() -> None:
    [chunk] = chunk_pages(pages_of("ends here", "goes on there"))
    assert chunk.pages == (1, 2)
    assert chunk.text == "ends here\n\ngoes on there"


@given(st.lists(texts, max_size=6))
def test_a_chunk_is_exactly_the_text_of_its_place(page_texts: list[str]) -> None:
    pages = pages_of(*page_texts)
    text = join_pages(pages)
    for chunk in chunk_pages(pages, Sizes(60, 15)):
        assert chunk.text == text[chunk.start : chunk.end]
        words = [page.text for page in pages if page.number in chunk.pages]
        assert chunk.text in "\n\n".join(
            page.text for page in pages if chunk.pages[0] <= page.number <= chunk.pages[-1]
        )
        assert all(words)


def test_white_space_alone_gives_no_chunk() -> None:
    assert chunk_pages(pages_of(" \n\n ", "\t")) == []


@given(st.lists(texts, max_size=8))
def test_chunking_page_by_page_equals_chunking_the_joined_text(page_texts: list[str]) -> None:
    pages = pages_of(*page_texts)
    chunks = chunk_pages(pages, Sizes(60, 15))
    assert [(c.start, c.end) for c in chunks] == split(join_pages(pages), Sizes(60, 15))
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))


def test_a_chunk_is_given_before_the_last_page_is_there() -> None:
    chunker = Chunker(Sizes(60, 15))
    given_early = [chunker.add(page) for page in pages_of(*["word " * 40] * 5)]
    assert [len(chunks) > 0 for chunks in given_early] == [False, True, True, True, True]
    assert chunker.finish()


def test_a_chunk_records_whether_its_pages_have_hidden_text() -> None:
    pages = [
        Page(number, f"{'word ' * 11}.", Method.TEXT_LAYER, hidden=46 * (number == 2))
        for number in range(1, 5)
    ]
    chunks = chunk_pages(pages, Sizes(80, 0))
    assert [(chunk.pages, chunk.has_hidden) for chunk in chunks] == [
        ((1,), False),
        ((2,), True),
        ((3,), False),
        ((4,), False),
    ]
    [*_, spanning] = chunk_pages(pages[:2], Sizes(800, 0))
    assert (spanning.pages, spanning.has_hidden) == ((1, 2), True)
