import json
from dataclasses import asdict

import pytest

from quinion.chunk.file_chunks import split_parts
from quinion.model.chunk import FileChunk, file_chunk_from_json
from quinion.model.text_part import Lines, Syntax, TextPart
from tests.tokens import by_words

TEXT = "# Title\n\ndef f():\n    pass\n"


def split(*parts: TextPart) -> list[FileChunk]:
    return list(split_parts(parts, by_words, 32))


@pytest.mark.parametrize(
    ("syntax", "keys"),
    [
        (Syntax.PLAIN, {"start_line", "end_line"}),
        (Syntax.PYTHON, {"start_line", "end_line", "function_name"}),
        (Syntax.MARKDOWN, {"start_line", "end_line", "header_path", "header_level"}),
    ],
)
def test_each_syntax_is_split_by_its_own_rules(syntax: Syntax, keys: set[str]) -> None:
    assert {*split(TextPart(TEXT, syntax))[-1].metadata} == keys


def test_a_part_with_a_place_is_cited_by_it_and_not_by_lines() -> None:
    slides = [
        TextPart(f"# Slide {n}\n\nText.", Syntax.MARKDOWN, {"slide": n}, Lines.NONE) for n in (1, 2)
    ]
    assert [chunk.metadata for chunk in split(*slides)] == [
        {"header_path": f"Slide {n}", "header_level": 1, "slide": n} for n in (1, 2)
    ]


def test_rows_of_a_part_are_cited_as_rows() -> None:
    sheet = TextPart("Item | Cost\nItem: Trees | Cost: 12", place={"sheet": "A"}, lines=Lines.ROWS)
    [chunk] = split(sheet)
    assert chunk.metadata == {"sheet": "A", "start_row": 1, "end_row": 2}


@pytest.mark.parametrize("syntax", Syntax)
def test_a_chunk_crosses_a_process_boundary_unchanged(syntax: Syntax) -> None:
    for chunk in split(TextPart(TEXT, syntax)):
        assert file_chunk_from_json(json.loads(json.dumps(asdict(chunk)))) == chunk
