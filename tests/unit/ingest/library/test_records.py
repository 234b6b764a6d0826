"""Slugs, counts, and round trips of document records."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.errors import InvalidInput
from quinion.ingest.library.records import (
    EMBEDDED_CHARACTERS,
    LibraryDocument,
    LibraryElement,
    count_types,
    document_of,
    document_record,
    figure_of,
    figure_record,
    figures_of,
    possible_slugs,
)
from quinion.model.element import Box, Element, ElementType
from quinion.servers.doclibrary.tools import _sort

BOX = Box(1.0, 2.0, 30.5, 40.25)


def document(slug: str, title: str = "", pages: int = 1, day: int = 1) -> LibraryDocument:
    return LibraryDocument(
        slug=slug,
        title=title or slug,
        source_file=f"{slug}.pdf",
        sha256="0" * 64,
        total_pages=pages,
        keywords=("maps", "Ωμέγα"),
        date_added=datetime(2026, 1, day, 12, 30, 15, tzinfo=UTC),
        counts=count_types([]),
    )


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("usgs_snyder.pdf", "usgs_snyder"),
        ("Bericht (final) – v2.pdf", "bericht_final_v2"),
        ("TorchGeo.PDF", "torchgeo"),
        ("図面.pdf", "図面"),
        ("U\u0308bersicht.pdf", "übersicht"),
        ("../x.pdf", "x"),
        ("---.pdf", "document"),
        (".pdf", "pdf"),
        ("a" * 200 + ".pdf", "a" * 60),
    ],
)
def test_a_slug_is_the_words_of_the_files_name(name: str, slug: str) -> None:
    assert next(possible_slugs(Path(name))) == slug


def test_a_slug_that_is_taken_is_numbered() -> None:
    assert list(islice(possible_slugs(Path("a b.pdf")), 3)) == ["a_b", "a_b_2", "a_b_3"]


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1))
def test_a_slug_is_safe_in_an_address_and_in_an_id(name: str) -> None:
    slug = next(possible_slugs(Path(name + ".pdf")))
    assert slug
    assert not set(slug) & set(" /:?#%{}\\\"'")
    assert slug.strip("_") == slug


def test_a_document_is_read_as_it_was_written() -> None:
    one = document("maps", "Maps")
    assert document_of(document_record(one)) == one


def test_an_element_is_read_as_it_was_written_and_has_an_id_of_its_own() -> None:
    table = (("Street", "Houses"), ("Mill Lane", "24"))
    elements = [
        Element(ElementType.TABLE, "Table 5", 9, BOX, "Table 5. Houses.", "See it.", "24", table),
        Element(ElementType.EQUATION, "(8-3)", 9, BOX),
    ]
    figures = figures_of("maps", elements)
    assert len({figure.id for figure in figures}) == 2
    described = LibraryElement(figures[1].id, "maps", elements[1], "Energy.", "E = mc^2")
    hiding = replace(described, has_hidden=True)
    for figure in (*figures, described, hiding):
        assert figure_of(figure_record(figure)) == figure
    assert figure_record(described).text == "(8-3)\nEnergy."


def test_what_an_element_is_found_by_begins_with_its_caption_and_is_short() -> None:
    long = Element(
        ElementType.FIGURE, "Figure 1", 1, BOX, "Figure 1. Plan.", "x" * 5000, "y" * 5000
    )
    text = figure_record(figures_of("maps", [long])[0]).text
    assert text.startswith("Figure 1. Plan.\nxxx")
    assert len(text) == EMBEDDED_CHARACTERS


def test_each_type_is_counted_and_named() -> None:
    elements = [Element(kind, "a", 1, BOX) for kind in ("figure", "figure", "chart")]  # type: ignore[arg-type]
    assert count_types(elements) == {
        "figures": 2,
        "tables": 0,
        "equations": 0,
        "diagrams": 0,
        "charts": 1,
    }


def test_the_newest_and_the_longest_come_first() -> None:
    by_title = [document("a", pages=1, day=2), document("b", pages=3, day=1), document("c", day=3)]
    orders = {
        key: "".join(one.slug for one in _sort(by_title, key))
        for key in ("title", "date_added", "page_count")
    }
    assert orders == {"title": "abc", "date_added": "cab", "page_count": "bac"}
    with pytest.raises(InvalidInput, match="title, date_added, page_count"):
        _sort(by_title, "Title")
