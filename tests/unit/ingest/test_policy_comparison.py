"""Sections of a revision, joined from its chunks."""

from quinion.chunk.recursive import Sizes
from quinion.chunk.sections.split import chunk_sections, find_sections
from quinion.ingest.policy_comparison import join_sections
from tests.policy_texts import policy_lines


def test_chunks_are_joined_to_the_sections_that_they_were_split_from() -> None:
    lines = policy_lines(chapters=3, paragraphs=8)
    sections = find_sections(lines)
    for sizes in (Sizes(1000, 200), Sizes(150, 30)):
        found = join_sections(chunk_sections(lines, sizes))
        assert [(one.ref, one.path, one.pages) for one in found] == [
            (one.ref, one.path, one.pages) for one in sections
        ]
        assert [one.text.split() for one in found] == [one.text.split() for one in sections]
