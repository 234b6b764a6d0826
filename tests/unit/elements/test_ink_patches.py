import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from quinion.elements.ink_patches import find_patches
from quinion.model.element import Box


def paper(height: int = 200, width: int = 300, shade: int = 255) -> NDArray[np.uint8]:
    return np.full((height, width), shade, dtype=np.uint8)


def test_ink_that_is_not_text_is_a_patch() -> None:
    pixels = paper()
    pixels[50:120, 40:160] = 0
    pixels[20:30, 40:200] = 0
    text = [Box(40, 20, 200, 30)]
    assert find_patches(pixels, text) == [Box(40, 50, 160, 120)]


def test_patches_apart_stay_apart_and_near_ones_are_one() -> None:
    pixels = paper()
    pixels[20:60, 20:60] = pixels[20:60, 62:100] = pixels[120:160, 20:60] = 0
    found = find_patches(pixels, [])
    assert sorted(found, key=lambda box: box.y0) == [Box(20, 20, 100, 60), Box(20, 120, 60, 160)]


def test_on_dark_paper_light_is_ink() -> None:
    pixels = paper(shade=20)
    pixels[50:120, 40:160] = 240
    assert find_patches(pixels, []) == [Box(40, 50, 160, 120)]


def test_a_strip_along_the_side_of_the_page_is_ignored() -> None:
    pixels = paper()
    pixels[:, :20] = 0
    assert find_patches(pixels, []) == []


def test_specks_and_faint_shades_are_none() -> None:
    pixels = paper()
    pixels[50:53, 50:53] = 0
    pixels[100:150, 100:150] = 245
    assert find_patches(pixels, []) == []


@given(st.integers(10, 150), st.integers(10, 240), st.integers(8, 40), st.integers(8, 50))
def test_a_patch_ends_where_its_ink_does(top: int, left: int, height: int, width: int) -> None:
    pixels = paper()
    pixels[top : top + height, left : left + width] = 0
    [patch] = find_patches(pixels, [])
    inner = Box(left, top, min(297, left + width), min(197, top + height))
    assert patch == inner
