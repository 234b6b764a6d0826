"""A page as pixels: what renderers and image files give, and what Tesseract takes."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from PIL.Image import Image, Resampling, Transpose

# Tesseract refuses an image with a longer side.
MAX_SIDE = 32_767
BAND_ROWS = 256


@dataclass(frozen=True)
class Raster:
    """Pixels in shades of grey (mode "L"), and the resolution where it is known."""

    image: Image
    dpi: int | None = None

    def shrink(self, max_pixels: int) -> "Raster":
        """The same picture with no more pixels than this."""
        scale = fit_scale(self.image.width, self.image.height, max_pixels)
        if scale == 1.0:
            return self
        size = (max(1, int(self.image.width * scale)), max(1, int(self.image.height * scale)))
        dpi = None if self.dpi is None else max(1, round(self.dpi * scale))
        return Raster(self.image.resize(size, Resampling.BOX), dpi)

    def turn_upside_down(self) -> "Raster":
        """The same picture, half a turn on."""
        return Raster(self.image.transpose(Transpose.ROTATE_180), self.dpi)

    def bands(self, *, upside_down: bool = False) -> Iterator[bytes]:
        """The pixels row after row, some rows at a time: no copy of a large picture is made."""
        width, height = self.image.size
        tops = range(0, height, BAND_ROWS)
        for top in reversed(tops) if upside_down else tops:
            band = self.image.crop((0, top, width, min(top + BAND_ROWS, height))).tobytes()
            yield band[::-1] if upside_down else band

    def to_pgm(self, *, upside_down: bool = False) -> bytes:
        """An uncompressed PGM file: no time goes into packing and unpacking pixels."""
        header = b"P5\n%d %d\n255\n" % self.image.size
        return b"".join((header, *self.bands(upside_down=upside_down)))


def fit_scale(width: float, height: float, max_pixels: int) -> float:
    """By what to multiply both sides to stay within the limits; never more than 1."""
    return min(1.0, math.sqrt(max_pixels / (width * height)), MAX_SIDE / max(width, height))
