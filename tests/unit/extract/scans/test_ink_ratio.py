import pytest
from PIL import Image, ImageDraw

from quinion.extract.scans.ink_ratio import ink_ratio, word_ink_ratio


def page(paper: int, ink: int) -> Image.Image:
    """An image of 100 by 100 pixels with two squares of 10 by 10."""
    image = Image.new("L", (100, 100), paper)
    draw = ImageDraw.Draw(image)
    draw.rectangle((10, 10, 19, 19), fill=ink)
    draw.rectangle((50, 50, 59, 59), fill=ink)
    return image


@pytest.mark.parametrize(("paper", "ink"), [(255, 0), (0, 255), (200, 90), (90, 200)])
def test_ink_is_what_differs_from_the_paper(paper: int, ink: int) -> None:
    assert ink_ratio(page(paper, ink)) == pytest.approx(0.02)


def test_a_shade_near_that_of_the_paper_is_no_ink() -> None:
    assert ink_ratio(page(230, 200)) == 0.0


def test_share_is_the_ink_inside_the_boxes() -> None:
    assert word_ink_ratio(page(255, 0), [(5, 5, 30, 30)]) == pytest.approx(0.5)


def test_boxes_that_overlap_count_their_ink_once() -> None:
    assert word_ink_ratio(page(255, 0), [(5, 5, 30, 30), (0, 0, 40, 40)]) == pytest.approx(0.5)


def test_an_empty_page_has_no_share() -> None:
    assert word_ink_ratio(Image.new("L", (10, 10), 255), [(0, 0, 9, 9)]) == 0.0
