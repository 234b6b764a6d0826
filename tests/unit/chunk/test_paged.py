import pytest

from quinion.chunk.paged import split_pages
from quinion.model.chunk import FileChunk
from quinion.model.page import Method, Page
from tests.tokens import by_words

SENTENCE = "There are eight words in this short sentence.\n"


def split(*texts: str, size: int = 20) -> list[FileChunk]:
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
def test_a_chunk_says_where_on_its_page_it_is(sentences: int, positions: list[str]) -> None:
    chunks = split(SENTENCE * sentences)
    assert [chunk.metadata["page_position"] for chunk in chunks] == positions


def test_a_chunk_never_goes_from_one_page_to_the_next() -> None:
    first = "A sentence of many more words than any heading has, and that goes"
    chunks = split(first, "on overleaf.")
    assert [(chunk.text, chunk.metadata["page_number"]) for chunk in chunks] == [
        (first, 1),
        ("on overleaf.", 2),
    ]


def test_a_heading_alone_on_its_page_is_found_with_the_text_below_it() -> None:
    part, chapter, text = split("Part 1\nBackground\n", "1. Homes", SENTENCE)
    assert part.text == f"Part 1\nBackground\n1. Homes\n{SENTENCE.strip()}"
    assert chapter.text == f"1. Homes\n{SENTENCE.strip()}"
    assert text.text == SENTENCE.strip()
    assert (part.start, part.end, part.tokens) == (0, 17, len(by_words(part.text)))
    assert part.metadata["page_number"] == 1
    assert part.metadata["page_spans"] == "1:0-15,2:0-7,3:0-38"


def test_a_heading_at_the_end_stays_alone() -> None:
    assert [chunk.text for chunk in split(SENTENCE, "Key Diagram")][1:] == ["Key Diagram"]


def test_text_that_may_be_invisible_stays_on_its_page() -> None:
    pages = [
        Page(1, "Part 1", Method.TEXT_LAYER),
        Page(2, SENTENCE, Method.TEXT_LAYER, hidden=46),
    ]
    assert split_pages(pages, by_words, 20)[0].text == "Part 1"


def test_a_few_lines_of_contents_are_no_chunk_of_their_own() -> None:
    contents = f"Housing {'.' * 60} 12\n4.1\nTransport {'.' * 60} 14\n"
    [chunk] = split(contents, SENTENCE, size=200)
    assert chunk.metadata["page_number"] == 2
    assert split("Signed ........\n", SENTENCE)[0].text.startswith("Signed")


def test_places_are_those_in_the_pages_own_text() -> None:
    chunks = split("First page.", "\n Second page. ")
    assert [(chunk.start, chunk.end) for chunk in chunks] == [(0, 11), (1, 14)]


def test_an_empty_page_has_no_chunks_and_others_keep_their_numbers() -> None:
    [chunk] = split("", " \n", "text")
    assert chunk.metadata == {"page_number": 3, "page_position": "start", "page_spans": "3:0-4"}
    assert chunk.heading == ""


def test_a_sentence_is_kept_whole_over_printed_lines() -> None:
    lines = "one two three four five. six seven\neight nine ten eleven. twelve thirteen\n" * 3
    assert all(chunk.text.endswith(".") for chunk in split(lines)[:-1])


def test_every_chunk_of_a_page_knows_how_much_is_hidden_on_it() -> None:
    pages = [
        Page(1, SENTENCE, Method.TEXT_LAYER),
        Page(2, SENTENCE * 3, Method.TEXT_LAYER, hidden=46),
    ]
    chunks = split_pages(pages, by_words, 20)
    assert [chunk.hidden for chunk in chunks] == [0, 46, 46]


@pytest.mark.parametrize("number", ["54", "Page 54 of 120", "- 54 -", "xiv", "p. 7", "54 / 120"])
def test_a_page_number_is_no_chunk_of_its_own(number: str) -> None:
    [chunk] = split(SENTENCE, f"{number}\n")
    assert chunk.metadata["page_number"] == 1


def test_a_running_header_is_no_chunk_of_its_own() -> None:
    header = "Annual Report 2023 | {}\nThe Council\n"
    body = "".join(f"Line {word} of the text.\n" for word in "abcdefghij")
    pages = [header.format(number) + body * (number != 3) for number in range(1, 6)]
    chunks = split(*pages, size=200)
    assert {chunk.metadata["page_number"] for chunk in chunks} == {1, 2, 4, 5}
    assert "Annual Report" in chunks[0].text  # part of a chunk with other text it stays


def test_short_pages_that_differ_by_their_numbers_are_content() -> None:
    chunks = split(*(f"Plot {number}: {number + 2} bedrooms\n" for number in range(1, 6)))
    assert len(chunks) == 5


def test_a_line_that_is_also_within_a_page_is_content() -> None:
    pages = ["Refused.\n\n" * 32] * 3
    for number in range(1, 4):
        own = [chunk for chunk in split(*pages) if chunk.metadata["page_number"] == number]
        assert "".join(chunk.text for chunk in own).count("Refused.") == 32


def test_pages_that_are_all_the_same_keep_their_text() -> None:
    assert [chunk.text for chunk in split("Void.", "Void.", "Void.")] == ["Void."] * 3


def test_a_document_of_numbers_keeps_them() -> None:
    assert [chunk.text for chunk in split("54", "1987")] == ["54", "1987"]
