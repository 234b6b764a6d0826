import pytest

from quinion.chunk.splitter import BY_LINES, BY_SENTENCES, CutPositions, Level, split_span
from quinion.chunk.token_offsets import TokenOffsets
from tests.tokens import by_model, by_words

MEGABYTES = {
    "one line": "The quick brown fox jumps over the lazy dog and sleeps " * 40_000,
    "one word": "x" * 2_000_000,
    "lines": "a line of text\n" * 100_000,
    "tiny paragraphs": "text\n\n" * 100_000,
    "blanks": " " * 2_000_000 + "x",
    "no letters": "\u200b" * 2_000_000,
}


def split(
    text: str,
    size: int,
    levels: tuple[Level, ...] = BY_LINES,
    first: int | None = None,
    head: int = 0,
) -> list[str]:
    spans = split_span(TokenOffsets(text, by_words), (0, len(text)), size, levels, first, head)
    return [text[start:end] for start, end in spans]


def words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


def test_text_that_fits_is_one_stripped_span() -> None:
    assert split("\n\n one two \n\n three\n ", 16) == [" one two \n\n three"]


def test_white_space_gives_no_spans() -> None:
    assert split(" \n\t\n", 16) == []
    assert split("", 16) == []


def test_paragraphs_are_packed_up_to_the_size() -> None:
    one, two, three = words(7, "one"), words(8, "two"), words(9, "three")
    assert split(f"{one}\n\n{two}\n \n{three}\n", 16) == [f"{one}\n\n{two}", three]


def test_a_paragraph_that_fits_is_not_cut_to_fill_the_one_before() -> None:
    short, long = words(3, "short"), words(15, "long\n")
    assert split(f"{short}\n\n{long}", 16) == [short, long.rstrip()]


def test_a_scrap_does_not_stand_alone_where_the_next_paragraph_is_cut_anyway() -> None:
    text = "Title\n\n" + words(40)
    assert split(text, 16)[0].startswith("Title\n\nword word")


def test_a_long_paragraph_is_cut_at_the_end_of_a_line_that_ends_a_sentence() -> None:
    text = f"{words(6)}\n{words(3)} end.\n{words(4)}\n{words(10)}"
    assert split(text, 16)[0].endswith("end.")


def test_lines_are_cut_only_where_one_is_too_long() -> None:
    text = "\n".join([words(6), words(6), words(6), words(20)])
    parts = split(text, 16)
    assert parts[:2] == [f"{words(6)}\n{words(6)}", words(6)]


def test_a_long_line_is_cut_at_a_sentence() -> None:
    text = f"{words(9)}. {words(4)}! {words(12)}"
    assert split(text, 16) == [f"{words(9)}. {words(4)}!", words(12)]


def test_printed_lines_are_cut_at_sentences_first() -> None:
    text = f"{words(6)}\n{words(4)}. {words(4)}\n{words(8)}"
    assert split(text, 16, BY_SENTENCES)[0].endswith("word.")


def test_chinese_is_cut_at_its_full_stops() -> None:
    text = "市政府每天上午八点开始受理申请。" * 4
    assert all(part.endswith("。") for part in _by_model(text, 40))


def test_a_sentence_without_marks_is_cut_between_words() -> None:
    assert split(words(30), 16) == [words(16), words(14)]


def test_a_word_without_end_is_cut_anywhere() -> None:
    assert "".join(parts := split("x" * 300, 16)) == "x" * 300
    assert max(map(len, parts)) == 128


def test_the_last_two_are_balanced_where_only_a_scrap_would_be_left() -> None:
    text = "\n".join([words(2)] * 9)
    assert [part.count("word") for part in split(text, 16)] == [14, 4]


def test_parts_of_words_have_no_more_tokens_than_the_size_either() -> None:
    text = "".join(chr(ord("a") + i * i % 26) for i in range(3000))
    parts = _by_model(text, 32)
    assert "".join(parts) == text
    assert all(len(by_model()(part)) <= 32 for part in parts)


def test_the_first_part_may_have_a_different_size() -> None:
    assert [part.count("word") for part in split(words(60), 16, first=30)] == [30, 16, 14]


def test_a_heading_is_not_separated_from_its_text() -> None:
    text = f"A short heading\n\n{words(15)}"
    assert split(text, 16) == ["A short heading", words(15)]
    assert split(text, 16, head=16) == [f"A short heading\n\n{words(11)}", words(4)]


def test_a_part_keeps_the_indentation_of_its_first_line() -> None:
    text = "\n".join(["    " + words(10)] * 3)
    assert split(text, 16) == ["    " + words(10)] * 3


def test_indentation_that_would_take_the_room_of_text_is_left_out() -> None:
    assert split("\n" + " " * 500 + "deep", 16) == ["deep"]


def test_known_places_come_before_all_others() -> None:
    text = f"{words(6)}\n\n{words(6)}\n\n{words(12)}"
    place = text.index("\n\n") + 2
    assert split(text, 16) == [f"{words(6)}\n\n{words(6)}", words(12)]
    assert split(text, 16, (CutPositions([0, place]), *BY_LINES)) == [words(6), words(6), words(12)]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", MEGABYTES)
def test_the_time_grows_with_the_length_and_no_faster(kind: str) -> None:
    text = MEGABYTES[kind]
    parts = split(text, 254)
    assert sum(len("".join(part.split())) for part in parts) == len("".join(text.split()))


def _by_model(text: str, size: int) -> list[str]:
    spans = split_span(TokenOffsets(text, by_model()), (0, len(text)), size)
    return [text[start:end] for start, end in spans]
