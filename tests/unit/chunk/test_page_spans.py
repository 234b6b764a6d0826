"""Every chunk knows its place on its pages: what stands there is the chunk, letter by letter."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quinion.chunk.paged import split_pages
from quinion.chunk.recursive import Sizes, chunk_pages, join_pages
from quinion.chunk.sections.split import chunk_sections
from quinion.model.line import Line
from quinion.model.page import PAGE_SPANS, Method, Page, PageSpan, parse_spans, without_spaces
from quinion.model.section import SectionChunk

TEXTS = st.lists(
    st.text(st.sampled_from("ab.é\ufb01 \n\u00a0\u2003"), max_size=120), min_size=1, max_size=4
)


def pages_of(texts: Iterable[str]) -> list[Page]:
    return [Page(number, text, Method.TEXT_LAYER) for number, text in enumerate(texts, 1)]


def at(pages: Sequence[Page], spans: Iterable[PageSpan]) -> str:
    texts = {page.number: without_spaces(page.text) for page in pages}
    return "".join(texts[span.page][span.start : span.end] for span in spans)


@given(TEXTS)
@settings(max_examples=300)
def test_chunks_of_joined_pages(texts: list[str]) -> None:
    pages = pages_of(texts)
    text = join_pages(pages)
    for chunk in chunk_pages(pages, Sizes(30, 10)):
        assert at(pages, chunk.page_spans(text)) == without_spaces(chunk.text)


@given(TEXTS)
def test_chunks_of_single_pages(texts: list[str]) -> None:
    pages = pages_of(texts)
    for chunk in split_pages(pages, lambda text: range(len(text)), 20):
        spans = parse_spans(str(chunk.metadata[PAGE_SPANS]))
        assert at(pages, spans) == without_spaces(chunk.text)


def page(number: int, *rows: tuple[str, float]) -> list[Line]:
    """Lines with boxes; each but the first lies before the one above it in the page's text."""
    lines = []
    end = sum(len(without_spaces(text)) for text, _ in rows)
    for at, (text, size) in enumerate(rows, 1):
        start = end - len(without_spaces(text))
        box = (57.0, 40.0 * at, 57.0 + 5 * len(text), 40.0 * at + size)
        lines.append(Line(number, text, box, size, places=((start, end),)))
        end = start
    return lines


def para(number: int) -> tuple[str, float]:
    return f"{number}. What a proposal brings is weighed in the matter of {number}.", 11.0


def test_chunks_of_sections_skip_footnotes_and_cross_page_breaks() -> None:
    note = Line(1, "1 A note.", (57.0, 700.0, 300.0, 708.0), 8.0, marked=True, places=((900, 907),))
    begun = ("9. A long paragraph that begins at the end of a page", 11.0)
    lines = [
        *page(1, *[para(number) for number in range(1, 9)], begun),
        note,
        *page(2, ("and goes on at the top of the next one.", 11.0), para(10), para(11)),
    ]
    [chunk] = [chunk for chunk in chunk_sections(lines) if chunk.ref == "Para 9"]
    assert [span.page for span in chunk.page_spans] == [1, 2]
    assert all(is_at_its_place(chunk, lines) for chunk in chunk_sections(lines))


@pytest.mark.parametrize("size", [60, 90, 800])
def test_a_heading_has_the_place_of_the_text_below_it_too(size: int) -> None:
    lines = [
        *page(1, *[para(number) for number in range(1, 9)]),
        *page(2, ("9. Green Belt", 18.0), ("Openness", 14.0), para(9), para(10)),
    ]
    chunks = chunk_sections(lines, Sizes(size, 0))
    assert any(chunk.below for chunk in chunks)
    assert all(is_at_its_place(chunk, lines) for chunk in chunks)


def is_at_its_place(chunk: SectionChunk, lines: Iterable[Line]) -> bool:
    pages: dict[int, list[str]] = {}
    for line in lines:
        [(start, end)] = line.places
        letters = pages.setdefault(line.page_number, [""] * 1_000)
        letters[start:end] = without_spaces(line.text)
    found = (
        letter for span in chunk.page_spans for letter in pages[span.page][span.start : span.end]
    )
    return "".join(found) == without_spaces(chunk.found_text)
