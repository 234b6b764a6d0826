import pytest

from quinion.elements.find import find_type
from quinion.elements.page_layout import TextRow
from quinion.model.element import Box, ElementType


@pytest.mark.parametrize(
    ("kind", "caption", "wanted"),
    [
        ("table", "Table 1. A flow chart of everything", ElementType.TABLE),
        ("chart", "Chart 5", ElementType.CHART),
        ("figure", "Figure 1. Controller block diagram", ElementType.DIAGRAM),
        ("figure", "Figure 1. Flow chart of the survey", ElementType.DIAGRAM),
        ("figure", "Figure 1. Histogram of ages", ElementType.CHART),
        ("figure", "Figure 1. Rainfall versus height", ElementType.CHART),
        ("figure", "Figure 1. The yard from the north", ElementType.FIGURE),
        ("plate", "Plate IV", ElementType.FIGURE),
    ],
)
def test_words_determine_the_type(kind: str, caption: str, wanted: ElementType) -> None:
    assert find_type(kind, caption, []) is wanted


def test_an_axis_makes_a_chart() -> None:
    ticks = [TextRow(str(n), Box(50, 10 * n, 60, 10 * n + 8), 8.0) for n in range(5)]
    assert find_type("figure", "Figure 1", ticks) is ElementType.CHART
    assert find_type("figure", "Figure 1", ticks[:2]) is ElementType.FIGURE
