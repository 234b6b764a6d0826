import pytest

from quinion.chunk.paged import split_pages
from quinion.model.page import Method, Page
from quinion.model.passage import Passage
from tests.tokens import by_words

SENTENCE = "There are eight words in this short sentence.\n"


def split(*texts: str, size: int = 20) -> list[Passage]:
    pages = [Page(number, text, Method.TEXT_LAYER) for number, text in enumerate(texts, 1)]
    return split_pages(pages, by_words, size)


@pytest.mark.parametrize(
    ("sentences", "positions"),
    [
        (1, ["start"]),
        (3, ["start", "end"]),
        (6, ["start", "middle", "end"]),
        (8, ["start", "middle", "middle", "end"]),
    ],
)
def test_a_passage_says_where_on_its_page_it_is(sentences: int, positions: list[str]) -> None:
    passages = split(SENTENCE * sentences)
    assert [passage.metadata["page_position"] for passage in passages] == positions


def test_a_passage_never_goes_from_one_page_to_the_next() -> None:
    passages = split("A sentence that goes", "on overleaf.")
    assert [(passage.text, passage.metadata["page_number"]) for passage in passages] == [
        ("A sentence that goes", 1),
        ("on overleaf.", 2),
    ]


def test_places_are_those_in_the_pages_own_text() -> None:
    passages = split("First page.", "\n Second page. ")
    assert [(passage.start, passage.end) for passage in passages] == [(0, 11), (1, 14)]


def test_an_empty_page_has_no_passages_and_others_keep_their_numbers() -> None:
    [passage] = split("", " \n", "text")
    assert passage.metadata == {"page_number": 3, "page_position": "start"}
    assert passage.heading == ""


def test_a_sentence_is_kept_whole_over_printed_lines() -> None:
    lines = "one two three four five. six seven\neight nine ten eleven. twelve thirteen\n" * 3
    assert all(passage.text.endswith(".") for passage in split(lines)[:-1])


def test_every_passage_of_a_page_knows_how_much_is_hidden_on_it() -> None:
    pages = [
        Page(1, SENTENCE, Method.TEXT_LAYER),
        Page(2, SENTENCE * 3, Method.TEXT_LAYER, hidden=46),
    ]
    passages = split_pages(pages, by_words, 20)
    assert [passage.hidden for passage in passages] == [0, 46, 46]
