from collections.abc import Sequence

from quinion.chunk.recursive import Sizes
from quinion.chunk.sections.references import join_chunks, select
from quinion.chunk.sections.split import chunk_sections
from quinion.model.line import Line
from quinion.model.section import SectionChunk

BODY, LARGE, SMALL = 11.0, 18.0, 8.0
WORDS = "Planning decisions weigh what a proposal brings against what it takes away"


def page(number: int, *rows: tuple[str, float]) -> list[Line]:
    return [
        Line(number, text, (57.0, 40.0 * at, 57.0 + 5 * len(text), 40.0 * at + size), size)
        for at, (text, size) in enumerate(rows, 1)
    ]


def para(number: int) -> tuple[str, float]:
    return f"{number}. {WORDS} in the matter of place {number}.", BODY


FIRST = page(1, *[para(number) for number in range(1, 9)])
PLAN = [
    *FIRST,
    *page(2, ("9. Green Belt", LARGE), ("Openness", 14.0), para(9), para(10)),
]


def chunk_of(lines: Sequence[Line], ref: str, sizes: Sizes | None = None) -> SectionChunk:
    chunks = chunk_sections(lines, sizes) if sizes else chunk_sections(lines)
    [found] = [chunk for chunk in chunks if chunk.ref == ref]
    return found


def test_a_bare_heading_is_found_with_the_headings_and_the_paragraph_below_it() -> None:
    expected = f"9. Green Belt\nOpenness\n{para(9)[0]}"
    assert chunk_of(PLAN, "Chapter 9").found_text == expected
    assert chunk_of(PLAN, "Openness").found_text == f"Openness\n{para(9)[0]}"


def test_a_paragraph_is_found_as_it_is() -> None:
    assert chunk_of(PLAN, "Para 9").found_text == para(9)[0]


def test_a_heading_is_cited_by_its_own_words() -> None:
    chapter = join_chunks(select(chunk_sections(PLAN), "Chapter 9"))
    assert chapter == f"9. Green Belt\n\nOpenness\n\n{para(9)[0]}\n\n{para(10)[0]}"


def test_the_text_below_is_cut_to_the_size_of_a_chunk() -> None:
    found = chunk_of(PLAN, "Chapter 9", Sizes(60, 0))
    assert found.found_text == "9. Green Belt\nOpenness\n9."
    assert len(chunk_of(PLAN, "Chapter 9", Sizes(130, 0)).found_text) <= 130


def test_a_footnote_between_a_heading_and_its_text_is_passed_over() -> None:
    note = Line(2, "1 A note on the page before.", (57.0, 700.0, 300.0, 708.0), SMALL, marked=True)
    lines = [*FIRST, *page(2, ("9. Green Belt", LARGE)), note, *page(3, para(9), para(10))]
    chapter = chunk_of(lines, "Chapter 9")
    assert chapter.found_text == f"9. Green Belt\n{para(9)[0]}"
    assert (chapter.pages, chapter.below_pages) == ((2,), (2, 3))


def test_a_paragraph_that_is_only_a_heading_is_found_with_the_text_below_it() -> None:
    titled = ("9. Eastern Green (see Map 3)", BODY)
    lines = [*FIRST, *page(2, titled, para(10))]
    assert chunk_of(lines, "Para 9").found_text == f"{titled[0]}\n{para(10)[0]}"
    assert join_chunks(select(chunk_sections(lines), "Para 9")) == titled[0]


def test_a_footnote_of_a_few_words_is_found_as_it_is() -> None:
    note = Line(2, "1 www.example.org/plan", (57.0, 700.0, 300.0, 708.0), SMALL, marked=True)
    lines = [*FIRST, *page(2, para(9)), note, *page(3, para(10))]
    [chunk] = [one for one in chunk_sections(lines) if one.ref.endswith("Footnote 1")]
    assert chunk.found_text == "1 www.example.org/plan"


def test_a_heading_without_text_below_it_stays_alone() -> None:
    lines = [*FIRST, *page(2, ("Back cover", LARGE))]
    assert chunk_of(lines, "Back cover").found_text == "Back cover"
