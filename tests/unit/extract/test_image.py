from pathlib import Path

import pytest
from PIL import Image

from quinion.errors import ExtractionFailed
from quinion.extract.image import FORMATS, open_image
from quinion.extract.ocr.raster import Raster
from tests.documents import PROSE, huge_png, picture_of, text_image

LIMIT = 10_000_000
ORIENTATION = 0x0112
QUARTER_TURN = 6  # "turn clockwise to see it upright"


def rasterize(path: Path, index: int = 0, max_pixels: int = LIMIT) -> Raster:
    with open_image(path, LIMIT) as file:
        return file.rasterize(index, 300, max_pixels)


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.jpeg", "a.bmp", "a.tif", "a.tiff"])
def test_every_format_gives_its_own_pixels(tmp_path: Path, name: str) -> None:
    path = text_image(tmp_path / name, "Some text")
    assert rasterize(path).image.size == picture_of("Some text").size


def test_an_image_under_another_images_name_is_read(tmp_path: Path) -> None:
    path = text_image(tmp_path / "a.png", "Some text").rename(tmp_path / "a.jpg")
    assert rasterize(path).image.size == picture_of("Some text").size


def test_frames_of_a_tiff_are_pages(tmp_path: Path) -> None:
    path = text_image(tmp_path / "a.tif", "One", "The second one", "Three")
    with open_image(path, LIMIT) as file:
        assert file.page_count == 3
        widths = [file.rasterize(index, 300, LIMIT).image.width for index in (0, 1, 2, 0)]
    assert widths[0] == widths[3] < widths[2] < widths[1]


def test_an_animated_png_has_one_page(tmp_path: Path) -> None:
    frames = [Image.new("L", (40, 40), shade) for shade in (0, 255)]
    frames[0].save(tmp_path / "a.png", save_all=True, append_images=frames[1:])
    with open_image(tmp_path / "a.png", LIMIT) as file:
        assert file.page_count == 1


def test_a_photograph_taken_on_its_side_is_put_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = QUARTER_TURN
    Image.new("L", (60, 20)).save(tmp_path / "a.jpg", exif=exif)
    assert rasterize(tmp_path / "a.jpg").image.size == (20, 60)


@pytest.mark.parametrize("compression", [None, "tiff_lzw"])
def test_a_tiff_on_its_side_is_put_upright_once(tmp_path: Path, compression: str | None) -> None:
    image = Image.new("L", (60, 20), "white")
    image.paste("black", (0, 0, 30, 20))
    image.save(tmp_path / "a.tif", tiffinfo={ORIENTATION: QUARTER_TURN}, compression=compression)
    upright = rasterize(tmp_path / "a.tif").image
    assert upright.size == (20, 60)
    assert upright.tobytes() == b"\x00" * 600 + b"\xff" * 600


def test_our_limit_holds_where_pillows_is_lower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert rasterize(text_image(tmp_path / "a.tif")).image.size == picture_of(PROSE).size


def test_transparent_pixels_become_white(tmp_path: Path) -> None:
    image = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    image.putpixel((1, 0), (0, 0, 0, 255))
    image.save(tmp_path / "a.png")
    assert list(rasterize(tmp_path / "a.png").image.tobytes()) == [255, 0]


def test_sixteen_bits_are_scaled_to_eight(tmp_path: Path) -> None:
    image = Image.new("I;16", (3, 1))
    for place, value in enumerate((0, 32_768, 65_535)):
        image.putpixel((place, 0), value)
    image.save(tmp_path / "a.png")
    assert list(rasterize(tmp_path / "a.png").image.tobytes()) == [0, 128, 255]


@pytest.mark.parametrize("mode", ["1", "P", "LA", "CMYK", "RGB"])
def test_every_mode_becomes_grey(tmp_path: Path, mode: str) -> None:
    path = tmp_path / ("a.tif" if mode == "CMYK" else "a.png")
    Image.new("L", (8, 8), "white").convert(mode).save(path)
    assert set(rasterize(path).image.tobytes()) == {255}


@pytest.mark.parametrize(("said", "known"), [(200, 200), (1, None), (9_999, None)])
def test_a_resolution_is_believed_if_it_is_plausible(
    tmp_path: Path, said: int, known: int | None
) -> None:
    Image.new("L", (8, 8)).save(tmp_path / "a.png", dpi=(said, said))
    assert rasterize(tmp_path / "a.png").dpi == known


def test_a_small_copy_can_be_asked_for(tmp_path: Path) -> None:
    Image.new("L", (400, 100)).save(tmp_path / "a.png", dpi=(200, 200))
    raster = rasterize(tmp_path / "a.png", max_pixels=10_000)
    assert (raster.image.size, raster.dpi) == ((200, 50), 100)


def test_a_giant_is_refused_by_its_header(tmp_path: Path) -> None:
    path = huge_png(tmp_path / "a.png")
    with pytest.raises(ExtractionFailed, match="60000 x 60000 pixels"), open_image(path, LIMIT):
        pass


def test_a_giant_in_a_later_frame_is_refused_by_its_header(tmp_path: Path) -> None:
    small, large = Image.new("1", (10, 10)), Image.new("1", (4_000, 4_000))
    path = tmp_path / "a.tif"
    small.save(path, save_all=True, append_images=[large], compression="group4")
    with open_image(path, LIMIT) as file:
        assert file.measure(0).image_ratio == 1.0
        with pytest.raises(ExtractionFailed, match="4000 x 4000 pixels"):
            file.measure(1)


def test_pillows_own_limit_is_as_it_was(tmp_path: Path) -> None:
    before = Image.MAX_IMAGE_PIXELS
    rasterize(text_image(tmp_path / "a.png"))
    assert before is not None
    assert before == Image.MAX_IMAGE_PIXELS


def test_half_a_file_is_damaged(tmp_path: Path) -> None:
    path = text_image(tmp_path / "a.png")
    path.write_bytes(path.read_bytes()[:2_000])
    with pytest.raises(ExtractionFailed, match=r"a\.png is damaged"):
        rasterize(path)


def test_a_file_without_an_image_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("<html>Please log in</html>")
    with (
        pytest.raises(ExtractionFailed, match="not a readable PNG, JPEG, TIFF or BMP"),
        open_image(tmp_path / "a.png", LIMIT),
    ):
        pass


def test_a_picture_is_in_colour_upright_and_within_its_limit(tmp_path: Path) -> None:
    image = Image.new("RGB", (400, 200), "red")
    exif = image.getexif()
    exif[0x0112] = 6  # lies on its side
    image.save(tmp_path / "turned.jpg", exif=exif, quality=95)
    with open_image(tmp_path / "turned.jpg", 1_000_000) as file:
        picture = file.picture(0, 20_000)
    assert picture.mode == "RGB"
    assert picture.size == (100, 200)
    red, green, blue = picture.getpixel((50, 100))  # type: ignore[misc]
    assert (red > 240, green < 20, blue < 20) == (True, True, True)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "LA", "I;16", "CMYK"])
def test_a_picture_of_any_kind_becomes_colour(tmp_path: Path, mode: str) -> None:
    Image.new(mode, (30, 20)).save(tmp_path / "any.tiff")
    with open_image(tmp_path / "any.tiff", 1_000_000) as file:
        assert file.picture(0, 1_000_000).mode == "RGB"


def test_other_formats_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    Image.new("RGB", (30, 20)).save(tmp_path / "new.webp")
    with open_image(tmp_path / "new.webp", 1_000_000, (*FORMATS, "WEBP")) as file:
        assert file.rasterize(0, 300, 1_000_000).image.size == (30, 20)
    with pytest.raises(ExtractionFailed), open_image(tmp_path / "new.webp", 1_000_000):
        pass
