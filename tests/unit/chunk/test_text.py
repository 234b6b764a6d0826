from quinion.chunk.text import split_text
from tests.tokens import by_model, by_words


def test_a_short_file_is_one_chunk_with_all_its_lines() -> None:
    [chunk] = split_text("\n\nfirst\nsecond\n\n", by_model(), 64)
    assert chunk.text == "first\nsecond"
    assert chunk.metadata == {"start_line": 3, "end_line": 4}
    assert (chunk.start, chunk.end, chunk.tokens, chunk.heading) == (2, 14, 2, "")


def test_lines_are_counted_as_editors_do() -> None:
    text = "one\x0ctwo\u2028three\x85four\n" + "word " * 16 + "\nlast"
    lines = [chunk.metadata for chunk in split_text(text, by_words, 16)]
    assert lines == [{"start_line": line, "end_line": line} for line in (1, 2, 3)]


def test_the_chunks_of_one_long_line_are_all_on_it() -> None:
    chunks = split_text("heading\n\n" + "word " * 200, by_words, 32)
    assert len(chunks) > 5
    assert {chunk.metadata["end_line"] for chunk in chunks} == {3}


def test_an_empty_file_has_no_chunks() -> None:
    assert split_text("", by_words, 32) == []
    assert split_text(" \n \n", by_words, 32) == []
