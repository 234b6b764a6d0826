import pytest

from quinion.extract.pdf.coverage import bounding_box, clip, cover_ratio, union_area

PAGE = (0.0, 0.0, 10.0, 10.0)


def test_area_under_two_overlapping_boxes_is_counted_once() -> None:
    assert union_area([(0, 0, 4, 4), (2, 2, 6, 6)]) == 28


def test_a_box_inside_another_adds_nothing() -> None:
    assert union_area([(0, 0, 8, 8), (1, 1, 2, 2)]) == 64


def test_tiles_that_touch_add_up() -> None:
    tiles = [(x, y, x + 2, y + 5) for x in range(0, 10, 2) for y in (0, 5)]
    assert union_area(tiles) == 100


def test_boxes_above_each_other_with_a_gap_leave_the_gap_out() -> None:
    assert union_area([(0, 0, 1, 2), (0, 5, 1, 6)]) == 3


def test_areas_outside_the_page_are_clipped() -> None:
    assert clip([(-5, -5, 5, 5)], PAGE) == [(0, 0, 5, 5)]


@pytest.mark.parametrize("outside", [(20, 20, 30, 30), (0, 3, 10, 3)])
def test_off_page_and_empty_areas_are_dropped(
    outside: tuple[float, float, float, float],
) -> None:
    assert clip([outside], PAGE) == []


def test_a_page_that_is_covered_twice_over_is_covered_once() -> None:
    assert cover_ratio([(-1, -1, 11, 11), (0, 0, 10, 10)], PAGE) == 1.0


def test_half_a_page_is_half() -> None:
    assert cover_ratio([(0, 0, 5, 10)], PAGE) == 0.5


def test_a_page_without_area_has_no_cover() -> None:
    assert cover_ratio([(0, 0, 5, 10)], (0, 0, 0, 10)) == 0.0


def test_span_is_the_box_around_all_boxes() -> None:
    assert bounding_box([(1, 5, 2, 6), (3, 0, 4, 1)]) == (1, 0, 4, 6)


def test_a_page_of_very_many_pieces_is_measured_by_their_reach() -> None:
    pieces = [
        (x / 300, y / 10, x / 300 + 0.001, y / 10 + 0.01) for x in range(300) for y in range(10)
    ]
    assert cover_ratio(pieces, PAGE) == pytest.approx(0.1 * 0.091, abs=0.001)
