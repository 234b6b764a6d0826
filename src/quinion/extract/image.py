"""Image files as pages of pixels, read with Pillow at their own size.

Pixels are decoded only after the size in the header has been checked against the pixel limit.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from quinion.errors import ExtractionFailed
from quinion.extract.formats import Measured
from quinion.extract.ocr.raster import Raster, fit_scale

FORMATS = ("PNG", "JPEG", "TIFF", "BMP")
GREY = (0.3, 0.5, 0.2, 0.0)
"""Weights of red, green and blue, the same that Tesseract uses to convert to grey."""
# Files with an unknown resolution often state 1 dpi or 65,535 dpi; Tesseract's guess is better.
_PLAUSIBLE_DPI = range(70, 2401)
# Exceptions that Pillow's decoders raise for damaged files.
_DAMAGE = (OSError, EOFError, SyntaxError, ValueError, TypeError, KeyError)


class ImageFile:
    """An open image file. A TIFF has one page per frame; other formats have one page."""

    def __init__(self, image: Image.Image, path: Path, max_pixels: int) -> None:
        self._image = image
        self._path = path
        self._max_pixels = max_pixels
        self.page_count = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1

    def measure(self, index: int) -> Measured:
        """Measure a frame: it is all picture, without a text layer.

        A frame over the pixel limit is refused by its header."""
        self._seek(index)
        return Measured(1.0)

    def text(self, index: int) -> str:
        """The text layer: always empty for an image."""
        return ""

    def rasterize(self, index: int, dpi: int, max_pixels: int) -> Raster:
        """Return the frame upright and in grey, at its own resolution; `dpi` is ignored.

        A frame with more pixels than allowed is scaled down. Frames are never scaled up.
        """
        self._seek(index)
        with _decoding(self._path):
            upright = _turn_upright(self._image)
            return Raster(_to_grey(upright), _resolution(self._image)).shrink(max_pixels)

    def picture(self, index: int, max_pixels: int) -> Image.Image:
        """Return the frame upright and in colour, with no more pixels than allowed."""
        self._seek(index)
        with _decoding(self._path):
            upright = _turn_upright(self._image)
            scale = fit_scale(upright.width, upright.height, max_pixels)
            size = (max(1, int(upright.width * scale)), max(1, int(upright.height * scale)))
            return _to_color(upright).resize(size)

    def _seek(self, index: int) -> None:
        with _decoding(self._path):
            if self._image.format == "TIFF":
                self._image.seek(index)
        _check_pixels(self._image, self._path, self._max_pixels)


@contextmanager
def open_image(
    path: Path, max_pixels: int, formats: tuple[str, ...] = FORMATS
) -> Iterator[ImageFile]:
    """Open an image file by its content, whatever its extension.

    Raises:
        ExtractionFailed: damaged, not an image, or too large.
    """
    # Given a path, Pillow maps an uncompressed TIFF into memory and scrambles it if it is rotated
    # (seen in Pillow 13.0).
    with path.open("rb") as stream:
        with _decoding(path):
            image = Image.open(stream, formats=formats)
        with image:
            _check_pixels(image, path, max_pixels)
            with _decoding(path):
                file = ImageFile(image, path, max_pixels)
            yield file


def open_pages(path: Path, max_pixels: int) -> AbstractContextManager[ImageFile]:
    """Open an image file for `extract.formats`."""
    return open_image(path, max_pixels)


@contextmanager
def _decoding(path: Path) -> Iterator[None]:
    """Replace Pillow's pixel limit with ours, and convert its errors to `ExtractionFailed`."""
    pillow_limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        yield
    except UnidentifiedImageError as cause:
        raise ExtractionFailed(
            f"{path.name} is not a readable PNG, JPEG, TIFF or BMP image. "
            "Check that it opens in an image viewer and save it again from there."
        ) from cause
    except _DAMAGE as cause:
        raise ExtractionFailed(
            f"{path.name} is damaged ({cause}). Get a fresh copy, or save it again."
        ) from cause
    finally:
        Image.MAX_IMAGE_PIXELS = pillow_limit


def _check_pixels(image: Image.Image, path: Path, max_pixels: int) -> None:
    width, height = image.size
    if width * height > max_pixels:
        raise ExtractionFailed(
            f"{path.name} has {width} x {height} pixels; at most {max_pixels:,} are read. "
            "Scale it down, or cut it into pages."
        )


def _turn_upright(image: Image.Image) -> Image.Image:
    """Return the image upright, by its EXIF orientation; the same object if it is upright."""
    if image.getexif().get(ExifTags.Base.Orientation, 1) == 1:
        image.load()
        return image
    return ImageOps.exif_transpose(image)


def _to_grey(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):  # 16 bits per pixel: `convert` clips instead of scaling
        return image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    if image.has_transparency_data:  # black text on transparent must not become black on black
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image.convert("RGBA"))
    # An image that has the mode already is not converted, which would copy a hundred megabytes.
    if image.mode in {"1", "L"}:
        return image if image.mode == "L" else image.convert("L")
    return (image if image.mode == "RGB" else image.convert("RGB")).convert("L", GREY)


def _to_color(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):
        return _to_grey(image).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")


def _resolution(image: Image.Image) -> int | None:
    try:
        dpi = round(float(image.info["dpi"][0]))
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, ZeroDivisionError):
        return None
    return dpi if dpi in _PLAUSIBLE_DPI else None
