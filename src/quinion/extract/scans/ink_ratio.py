"""Measure the share of ink on a page, and the share of the ink that belongs to words."""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate

from PIL import Image, ImageDraw

# A pixel is ink if it differs by more than this from the paper (of 255), darker or lighter.
CONTRAST = 60
_INK = 255
# A page with less ink than this is blank: paper has specks.
BLANK_INK = 0.001


def ink_ratio(image: Image.Image) -> float:
    """The share of a grey picture that is not paper."""
    return find_ink(image).histogram()[_INK] / (image.width * image.height)


def word_ink_ratio(image: Image.Image, boxes: Iterable[tuple[int, int, int, int]]) -> float:
    """The share of the ink that lies inside the boxes."""
    ink = find_ink(image)
    inside = Image.new("1", image.size)
    draw = ImageDraw.Draw(inside)
    for box in boxes:
        draw.rectangle(box, fill=1)
    total = ink.histogram()[_INK]
    return ink.histogram(inside)[_INK] / total if total else 0.0


def find_ink(image: Image.Image) -> Image.Image:
    """Return a picture of the ink of a grey picture: 255 where it is not paper, else 0."""
    paper = _median(image)
    return image.point([_INK if abs(shade - paper) > CONTRAST else 0 for shade in range(256)])


def _median(image: Image.Image) -> int:
    # The median is the shade of the paper: a page of text has more paper than ink.
    sums = list(accumulate(image.histogram()))
    return bisect_left(sums, sums[-1] / 2)
