from quinion.chunk.text import split_text
from tests.tokens import by_model, by_words


def test_a_short_file_is_one_passage_with_all_its_lines() -> None:
    [passage] = split_text("\n\nfirst\nsecond\n\n", by_model(), 64)
    assert passage.text == "first\nsecond"
    assert passage.metadata == {"start_line": 3, "end_line": 4}
    assert (passage.start, passage.end, passage.tokens, passage.heading) == (2, 14, 2, "")


def test_lines_are_counted_as_editors_do() -> None:
    text = "one\x0ctwo\u2028three\x85four\n" + "word " * 16 + "\nlast"
    lines = [passage.metadata for passage in split_text(text, by_words, 16)]
    assert lines == [{"start_line": line, "end_line": line} for line in (1, 2, 3)]


def test_the_passages_of_one_long_line_are_all_on_it() -> None:
    passages = split_text("heading\n\n" + "word " * 200, by_words, 32)
    assert len(passages) > 5
    assert {passage.metadata["end_line"] for passage in passages} == {3}


def test_an_empty_file_has_no_passages() -> None:
    assert split_text("", by_words, 32) == []
    assert split_text(" \n \n", by_words, 32) == []
