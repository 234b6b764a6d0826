"""Captions on sheets made by hand: what is a row's place and print, and what follows from it."""

import pytest

from quinion.elements.captions import find_captions, is_list
from quinion.elements.page_layout import PageLayout, Region, RegionKind, Style, TextRow
from quinion.model.element import Box

FRAME = Box(0, 0, 595, 842)
BODY = Style("Times-Roman", 10.0)


def row(text: str, y: float, *, x: float = 70, bold: bool = False, size: float = 10.0) -> TextRow:
    box = Box(x, y, min(525, x + 5 * len(text)), y + size)
    return TextRow(text, box, size, "Times-Bold" if bold else "Times-Roman", bold=bold)


def layout(*rows: TextRow, regions: tuple[Region, ...] = ()) -> PageLayout:
    return PageLayout(1, FRAME, rows, regions, body=BODY)


def labels(page: PageLayout) -> list[str]:
    return [caption.label for caption in find_captions(page)]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Table 5: Houses by street", "Table 5"),
        ("Figure 3-1. The ground floor", "Figure 3-1"),
        ("Fig. 2(b). The attic", "Fig. 2(b)"),
        ("FIGURE 7.—Gerardus Mercator", "FIGURE 7"),
        ("Plate IV. The yard", "Plate IV"),
        ("Table A.1: Sources", "Table A.1"),
        ("Figure3.Connections", "Figure 3"),
        ("Table 2", "Table 2"),
        ("Exhibit 12 – Plan", "Exhibit 12"),
        ("Listing 1: The loop", "Listing 1"),
    ],
)
def test_a_caption_is_known_by_its_first_words(text: str, label: str) -> None:
    assert labels(layout(row(text, 100))) == [label]


@pytest.mark.parametrize(
    "text",
    [
        "Table 5 shows the houses by street",
        "Figure 3 and the notes say more",
        "Figures 15-19 represent the prices",
        "Table 8.15 is about turnover",
        "Map 3 of the annex was drawn later",
        "table i of the first part",
        "Tables are given below",
    ],
)
def test_a_mention_is_none(text: str) -> None:
    assert labels(layout(row(text, 100))) == []


def test_a_line_that_runs_on_from_the_one_above_is_none() -> None:
    above = row(
        "a long line of running text that goes to the very end of its column, as seen in", 88
    )
    assert (
        labels(layout(above, row("Figure 3. The rest is said elsewhere in this part.", 100))) == []
    )
    assert labels(layout(above, row("Figure 3. Another paragraph.", 120))) == ["Figure 3"]


def test_words_that_begin_sentences_need_a_caption_s_print() -> None:
    plain, bold = row("Box 4: The fund", 100), row("Box 4: The fund", 100, bold=True)
    assert labels(layout(plain)) == []
    assert labels(layout(bold)) == ["Box 4"]
    seen = (Region(RegionKind.CAPTION, Box(60, 95, 300, 115)),)
    assert labels(layout(plain, regions=seen)) == ["Box 4"]


def test_a_label_without_a_title_has_its_line_to_itself() -> None:
    beside = TextRow("Ref. [17, p. 236]", Box(120, 100, 200, 110), 10.0, "Times-Roman")
    assert labels(layout(row("Fig. 8.6", 100))) == ["Fig. 8.6"]
    assert labels(layout(row("Fig. 8.6", 100), beside)) == []


def test_a_caption_has_all_of_its_rows_and_no_more() -> None:
    page = layout(
        row("Figure 1: The first row of a caption,", 100, size=8),
        row("and its second.", 109, size=8),
        row("Running text begins here.", 119),
    )
    [caption] = find_captions(page)
    assert caption.text == "Figure 1: The first row of a caption, and its second."


def test_a_row_that_leads_to_a_page_number_is_an_entry() -> None:
    led = row("Figure 1. The ground floor . . . . . . . . . . . 12", 100)
    assert labels(layout(led)) == []
    far = TextRow("12", Box(510, 100, 520, 110), 10.0, "Times-Roman")
    assert labels(layout(row("Figure 1. The ground floor", 100), far)) == []


def test_a_page_of_entries_is_a_list() -> None:
    entries = [row(f"Figure {n}. Floor {n} ........ {n}", 100 + 15 * n) for n in range(4)]
    assert is_list(layout(*entries))
    assert not is_list(layout(*entries[:2]))
    assert is_list(
        layout(row("List of Figures", 60), row("3.1 The ellipse ........ 23", 80), *entries)
    )


def test_a_caption_printed_twice_is_one() -> None:
    assert labels(layout(row("Table 1. Houses", 100), row("Table 1. Houses", 100.5))) == ["Table 1"]
