"""Raster: a page as grey pixels, the input of Tesseract."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from PIL.Image import Image, Resampling, Transpose

# The longest side that Tesseract accepts.
MAX_SIDE = 32_767
BAND_ROWS = 256
POINTS_PER_INCH = 72


@dataclass(frozen=True)
class Raster:
    """Grey pixels (mode "L"), and the resolution if it is known."""

    image: Image
    dpi: int | None = None

    @property
    def size_in_points(self) -> tuple[float, float]:
        """Width and height in points, at 72 dpi if the resolution is not known."""
        scale = POINTS_PER_INCH / (self.dpi or POINTS_PER_INCH)
        return self.image.width * scale, self.image.height * scale

    def shrink(self, max_pixels: int) -> "Raster":
        """Scale down to at most this many pixels."""
        scale = fit_scale(self.image.width, self.image.height, max_pixels)
        if scale == 1.0:
            return self
        size = (max(1, int(self.image.width * scale)), max(1, int(self.image.height * scale)))
        dpi = None if self.dpi is None else max(1, round(self.dpi * scale))
        return Raster(self.image.resize(size, Resampling.BOX), dpi)

    def turn_upside_down(self) -> "Raster":
        """Rotate by 180 degrees."""
        return Raster(self.image.transpose(Transpose.ROTATE_180), self.dpi)

    def bands(self, *, upside_down: bool = False) -> Iterator[bytes]:
        """Yield the pixels in bands of rows, so that a large picture is not copied at once."""
        width, height = self.image.size
        tops = range(0, height, BAND_ROWS)
        for top in reversed(tops) if upside_down else tops:
            band = self.image.crop((0, top, width, min(top + BAND_ROWS, height))).tobytes()
            yield band[::-1] if upside_down else band

    def to_pgm(self, *, upside_down: bool = False) -> bytes:
        """Encode as an uncompressed PGM file, which costs no time for compression."""
        header = b"P5\n%d %d\n255\n" % self.image.size
        return b"".join((header, *self.bands(upside_down=upside_down)))


def fit_scale(width: float, height: float, max_pixels: int) -> float:
    """The factor for both sides to stay within the limits; at most 1."""
    return min(1.0, math.sqrt(max_pixels / (width * height)), MAX_SIDE / max(width, height))
