from quinion.elements.caption_matching import place_captions
from quinion.elements.captions import find_captions
from quinion.elements.page_layout import PageLayout, Region, RegionKind, Style, TextRow
from quinion.model.element import Box

FRAME = Box(0, 0, 595, 842)


def caption(text: str, y: float, x: float = 70) -> TextRow:
    return TextRow(text, Box(x, y, x + 5 * len(text), y + 10), 10.0, "Times-Bold", bold=True)


def text(y0: float, y1: float, x0: float = 70, x1: float = 525) -> Region:
    return Region(RegionKind.TEXT, Box(x0, y0, x1, y1))


def place(
    *rows: TextRow, pictures: tuple[Box, ...] = (), regions: tuple[Region, ...] = ()
) -> dict[str, Box | None]:
    layout = PageLayout(1, FRAME, rows, regions, pictures, body=Style("Times-Roman", 10.0))
    captions = find_captions(layout)
    boxes = place_captions(layout, captions)
    return {one.label: box for one, box in zip(captions, boxes, strict=True)}


def test_a_paragraph_is_a_wall() -> None:
    picture = Box(100, 100, 400, 300)
    row = caption("Figure 1. Far away", 420)
    assert place(row, pictures=(picture,), regions=(text(320, 400),)) == {"Figure 1": None}


def test_a_caption_without_anything_beside_it_has_no_box() -> None:
    assert place(caption("Figure 1. Nothing here", 420)) == {"Figure 1": None}


def test_panels_side_by_side_are_one_figure() -> None:
    left, right = Box(80, 100, 280, 300), Box(295, 100, 500, 300)
    row = caption("Figure 1. Two panels of one figure, left and right.", 320)
    assert place(row, pictures=(left, right)) == {"Figure 1": left | right}


def test_figures_side_by_side_stay_apart() -> None:
    left, right = Box(80, 100, 280, 300), Box(310, 100, 510, 300)
    rows = (caption("Figure 1. On the left", 320, 100), caption("Figure 2. On the right", 320, 330))
    assert place(*rows, pictures=(left, right)) == {"Figure 1": left, "Figure 2": right}


def test_captions_of_a_page_stand_on_one_side() -> None:
    """The other captions decide whether a figure belongs to the caption above or below it."""
    first, second = Box(100, 100, 500, 250), Box(100, 290, 500, 440)
    below = (caption("Figure 1. A", 260), caption("Figure 2. B", 450))
    assert place(*below, pictures=(first, second)) == {"Figure 1": first, "Figure 2": second}
    above = (caption("Figure 1. A", 85), caption("Figure 2. B", 270))
    assert place(*above, pictures=(first, second)) == {"Figure 1": first, "Figure 2": second}


def test_prose_framed_by_rules_is_a_table() -> None:
    top, bottom = Box(150, 100, 450, 101), Box(150, 300, 450, 301)
    row = caption("Table 6: A prompt", 315, 200)
    boxes = place(row, pictures=(top, bottom), regions=(text(110, 290, 155, 445),))
    assert boxes == {"Table 6": top | bottom}


def test_a_caption_may_stand_beside_its_figure() -> None:
    picture = Box(250, 100, 500, 300)
    assert place(caption("Figure 1. Aside", 180, 160), pictures=(picture,)) == {"Figure 1": picture}
