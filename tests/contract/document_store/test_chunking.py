"""Chunks: their size, overlap and separators, and the pages that they lie on."""

import re
from pathlib import Path

import pytest

from tests.contract.document_store.asking import chunks_of, ingest_well, read_text
from tests.contract.session import Answer, Session
from tests.documents import page_text, text_pdf

SIZE = 800
OVERLAP = 200


def chunk_pages(session: Session, folder: Path, ref: str, *pages: str) -> list[Answer]:
    """The chunks that a text PDF with these pages becomes."""
    answer = ingest_well(session, text_pdf(folder / f"{ref.replace('/', ' ')}.pdf", *pages), ref)
    chunks = chunks_of(session, answer["document_id"], ref)
    assert len(chunks) == answer["chunks_created"]
    return chunks


def texts(chunks: list[Answer]) -> list[str]:
    return [chunk["text"] for chunk in chunks]


def numbered_lines(count: int, length: int) -> list[str]:
    """Lines of one length that all differ, with no separator inside but spaces."""
    filler = "some more words " * 20
    return [f"{number:04d} {filler}"[: length - 1] + "." for number in range(count)]


def test_a_chunk_has_up_to_800_characters_and_the_next_begins_200_before_its_end(
    session: Session, files: Path
) -> None:
    # With its line break a line has 40 characters: 20 to a chunk, 5 of them again.
    lines = numbered_lines(50, 39)
    chunks = chunk_pages(session, files, "LINES", "\n".join(lines))
    assert texts(chunks) == [
        "\n".join(lines[start : start + 20]) for start in range(0, 45, 15) if lines[start:]
    ]


def test_no_chunk_is_longer_than_800_characters(session: Session, files: Path) -> None:
    words = [f"word{number}" for number in range(500)]
    text = "".join(
        word + (". " if i % 37 == 0 else ", " if i % 11 == 0 else " ")
        for i, word in enumerate(words)
    )
    chunks = chunk_pages(session, files, "LONG", text, text.upper())
    assert len(chunks) > 5
    assert all(0 < len(chunk["text"]) <= SIZE for chunk in chunks)


def test_neighbours_overlap_by_at_most_200_characters_and_nothing_is_lost(
    session: Session, files: Path
) -> None:
    pages = ["\n".join(numbered_lines(30, length)) for length in (25, 61, 133)]
    chunks = chunk_pages(session, files, "OVERLAP", *pages)
    whole = "\n\n".join(page_text(page) for page in pages).rstrip()
    reached = 0
    for chunk in texts(chunks):
        start = whole.index(chunk, max(0, reached - OVERLAP))
        assert not whole[reached:start].strip()
        reached = start + len(chunk)
    assert reached == len(whole)
    assert any(
        whole.index(b) < whole.index(a) + len(a)
        for a, b in zip(texts(chunks), texts(chunks)[1:], strict=False)
    )


@pytest.mark.parametrize(
    ("name", "separator"),
    [
        ("sentence end", ". "),
        ("exclamation", "! "),
        ("question", "? "),
        ("clause", "; "),
        ("phrase", ", "),
        ("word", " "),
    ],
)
def test_a_separator_stays_with_the_chunk_before_it(
    session: Session, files: Path, name: str, separator: str
) -> None:
    # One line of the page, so that none of the separators before this one occurs.
    pieces = [f"{number:03d}{'y' * 60}" for number in range(30)]
    chunks = chunk_pages(session, files, f"AFTER {name}", separator.join(pieces))
    mark = separator.strip()
    assert len(chunks) > 1
    for chunk in texts(chunks)[:-1]:
        assert chunk.endswith(f"y{mark}")
    for chunk in texts(chunks):
        assert re.match(r"\d{3}y", chunk)


def test_text_without_any_separator_is_cut_at_800_characters(session: Session, files: Path) -> None:
    text = "".join(f"{number:04d}" for number in range(475))
    chunks = chunk_pages(session, files, "UNBROKEN", text)
    assert texts(chunks) == [text[start : start + SIZE] for start in range(0, 1800, 600)]


@pytest.mark.parametrize(
    ("before", "after"),
    [(". ", ", "), ("; ", ", "), (", ", " "), ("? ", "; "), ("! ", "? "), (". ", "! ")],
)
def test_an_earlier_separator_is_preferred_to_a_later_one(
    session: Session, files: Path, before: str, after: str
) -> None:
    # Pieces of 300 characters: two fit into a chunk, and none has to be cut inside.
    piece = after.join(["z" * 28] * 10)
    text = before.join(f"{number:02d}{piece}" for number in range(8))
    chunks = chunk_pages(session, files, f"PREFER {ord(before[0])} {ord(after[0])}", text)
    assert len(chunks) > 2
    assert all(re.match(r"\d\dz", chunk) for chunk in texts(chunks))


def test_a_page_break_is_a_paragraph_break_and_is_preferred_to_a_line_break(
    session: Session, files: Path
) -> None:
    # Each page fits into a chunk, no two do, and none can be the other's overlap.
    pages = ["\n".join(numbered_lines(10, 59)) + f"\nend of page {n}" for n in range(4)]
    chunks = chunk_pages(session, files, "PARAGRAPHS", *pages)
    assert texts(chunks) == pages
    assert [chunk["metadata"]["page_numbers"] for chunk in chunks] == ["1", "2", "3", "4"]


def test_a_chunk_over_a_page_break_names_both_pages(session: Session, files: Path) -> None:
    chunks = chunk_pages(session, files, "BREAK", "The first page.", "The second page.")
    assert [chunk["metadata"]["page_numbers"] for chunk in chunks] == ["1,2"]
    assert texts(chunks) == ["The first page.\n\n\nThe second page."]


def test_page_numbers_are_exact(session: Session, files: Path) -> None:
    pages = [
        "\n".join(f"p{number}q {line}" for line in numbered_lines(lines, 40))
        for number, lines in enumerate([3, 25, 1, 1, 1, 20, 2, 7, 1, 30, 1, 1], 1)
    ]
    chunks = chunk_pages(session, files, "EXACT", *pages)
    spans = set()
    for chunk in chunks:
        marked = sorted({int(number) for number in re.findall(r"p(\d+)q", chunk["text"])})
        assert chunk["metadata"]["page_numbers"] == ",".join(map(str, marked))
        spans.add(len(marked))
    assert {1, 2} <= spans


def test_a_chunk_id_has_the_first_page_and_the_index_in_three_digits(
    session: Session, files: Path
) -> None:
    pages = [f"Page {n}.\n" + "\n".join(numbered_lines(9, 59)) for n in range(1, 13)]
    chunks = chunk_pages(session, files, "25/7 IDS", *pages)
    for index, chunk in enumerate(chunks):
        first = int(chunk["metadata"]["page_numbers"].split(",")[0])
        document_id = chunk["metadata"]["document_id"]
        assert chunk["chunk_id"] == f"{document_id}_{first:03d}_{index:03d}"
    assert chunks[-1]["chunk_id"].endswith(f"_012_{len(chunks) - 1:03d}")
    assert len({chunk["chunk_id"] for chunk in chunks}) == len(chunks) == 12


def test_indices_count_from_zero_to_the_total(session: Session, files: Path) -> None:
    chunks = chunk_pages(session, files, "INDICES", "\n".join(numbered_lines(60, 40)))
    assert [chunk["metadata"]["chunk_index"] for chunk in chunks] == list(range(len(chunks)))
    assert {chunk["metadata"]["total_chunks"] for chunk in chunks} == {len(chunks)}


def test_characters_and_words_are_counted_per_chunk(session: Session, files: Path) -> None:
    lines = [f"line {number} has  some words, {'more ' * (number % 5)}" for number in range(80)]
    for chunk in chunk_pages(session, files, "COUNTS", "\n".join(lines)):
        assert chunk["metadata"]["char_count"] == len(chunk["text"])
        assert chunk["metadata"]["word_count"] == len(chunk["text"].split())


def test_white_space_alone_is_never_a_chunk(session: Session, files: Path) -> None:
    chunks = chunk_pages(session, files, "SPACE", "One." + " " * 900 + "Two.", "Three.")
    assert all(chunk["text"] == chunk["text"].strip() != "" for chunk in chunks)
    assert read_text(session, chunks[0]["metadata"]["document_id"]).split() == [
        "One.",
        "Two.",
        "Three.",
    ]
