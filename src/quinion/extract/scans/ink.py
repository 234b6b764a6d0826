"""How much of a page is ink, and how much of the ink is words."""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate

from PIL import Image, ImageDraw

# A pixel is ink when it differs so much from the paper (of 255), be it darker or lighter.
CONTRAST = 60
_INK = 255


def ink_ratio(image: Image.Image) -> float:
    """The part of a grey picture that is not paper."""
    return _find_ink(image).histogram()[_INK] / (image.width * image.height)


def word_ink_ratio(image: Image.Image, boxes: Iterable[tuple[int, int, int, int]]) -> float:
    """The part of the ink that lies inside the boxes."""
    ink = _find_ink(image)
    inside = Image.new("1", image.size)
    draw = ImageDraw.Draw(inside)
    for box in boxes:
        draw.rectangle(box, fill=1)
    total = ink.histogram()[_INK]
    return ink.histogram(inside)[_INK] / total if total else 0.0


def _find_ink(image: Image.Image) -> Image.Image:
    paper = _median(image)
    return image.point([_INK if abs(shade - paper) > CONTRAST else 0 for shade in range(256)])


def _median(image: Image.Image) -> int:
    # The shade of the paper: on a page to be read there is more paper than ink.
    sums = list(accumulate(image.histogram()))
    return bisect_left(sums, sums[-1] / 2)
