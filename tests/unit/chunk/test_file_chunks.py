import json
from dataclasses import asdict

import pytest

from quinion.chunk.file_chunks import split_file_text
from quinion.model.chunk import file_chunk_from_json
from quinion.model.file_format import FORMATS, Format
from tests.tokens import by_words

TEXT = "# Title\n\ndef f():\n    pass\n"


@pytest.mark.parametrize(
    ("format", "keys"),
    [
        (Format.TEXT, {"start_line", "end_line"}),
        (Format.CODE, {"start_line", "end_line", "function_name"}),
        (Format.MARKDOWN, {"start_line", "end_line", "header_path", "header_level"}),
    ],
)
def test_each_format_is_split_by_its_own_rules(format: Format, keys: set[str]) -> None:
    assert {*split_file_text(TEXT, format, by_words, 32)[-1].metadata} == keys


def test_a_pdf_is_not_one_text() -> None:
    with pytest.raises(ValueError, match="pages"):
        split_file_text(TEXT, Format.PDF, by_words, 32)


def test_the_extensions_are_those_of_the_contract() -> None:
    assert FORMATS == {".md": "markdown", ".pdf": "pdf", ".txt": "text", ".py": "code"}


@pytest.mark.parametrize("format", [Format.TEXT, Format.CODE, Format.MARKDOWN])
def test_a_chunk_crosses_a_process_boundary_unchanged(format: Format) -> None:
    for chunk in split_file_text(TEXT, format, by_words, 32):
        assert file_chunk_from_json(json.loads(json.dumps(asdict(chunk)))) == chunk
