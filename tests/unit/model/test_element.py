import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.model.element import Box, Element, ElementType, element_of_json, fold_label

sides = st.floats(-1000, 1000)
boxes = st.builds(
    lambda x0, y0, width, height: Box(x0, y0, x0 + width, y0 + height),
    sides,
    sides,
    st.floats(0, 500),
    st.floats(0, 500),
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Fig. 2(b)", "FIGURE 2 b"),
        ("Figure 3-1", "fig 3–1"),
        ("(8-3)", "Equation 8-3"),
        ("Eq. (8–3)", "[8-3]"),
        ("Table 3", "TABLE 3 (continued)"),
        ("Table 3—Continued", "table3"),
        ("Plate IV", "plate iv."),
        ("Box\u00a02", "box 2"),
    ],
)
def test_two_ways_to_write_a_label_are_one(one: str, other: str) -> None:
    assert fold_label(one) == fold_label(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Figure 3", "Table 3"),
        ("Figure 3", "Figure 3a"),
        ("Figure 3-1", "Figure 31"),
        ("Table 1.1", "Table 11"),
        ("(8-3)", "Figure 8-3"),
        ("Figure p12-1", "Figure 12-1"),
    ],
)
def test_labels_that_differ_stay_apart(one: str, other: str) -> None:
    assert fold_label(one) != fold_label(other)


@given(st.text(max_size=40))
def test_folding_twice_changes_nothing_more(label: str) -> None:
    once = fold_label(label)
    assert fold_label(once.strip()) == once or not once


@given(boxes, boxes)
def test_boxes_overlap_alike_from_both_sides(one: Box, other: Box) -> None:
    assert one.overlap(other) == other.overlap(one)
    assert 0.0 <= one.iou(other) <= 1.0 + 1e-9
    assert (one | other).overlap(one) == pytest.approx(one.area)


def test_an_element_survives_the_way_through_json() -> None:
    element = Element(
        ElementType.TABLE,
        "Table 5",
        9,
        Box(1, 2, 3, 4),
        "Table 5. Houses",
        "as said",
        "24",
        (("a",),),
    )
    assert element_of_json(json.loads(json.dumps(asdict(element)))) == element
