import io

from PIL import Image

from quinion.extract.ocr.raster import BAND_ROWS, MAX_SIDE, Raster, fit_scale


def test_a_small_picture_is_not_scaled() -> None:
    raster = Raster(Image.new("L", (100, 50)), 300)
    assert raster.shrink(5_000) is raster


def test_a_large_picture_shrinks_with_its_resolution() -> None:
    small = Raster(Image.new("L", (400, 200)), 300).shrink(20_000)
    assert small.image.size == (200, 100)
    assert small.dpi == 150


def test_a_long_picture_is_reduced_to_tesseracts_limit() -> None:
    assert fit_scale(MAX_SIDE * 2, 10, 10**9) == 0.5


def test_pgm_holds_the_same_pixels() -> None:
    image = Image.linear_gradient("L")
    with Image.open(io.BytesIO(Raster(image).to_pgm())) as copy:
        assert (copy.mode, copy.size) == ("L", image.size)
        assert copy.tobytes() == image.tobytes()


def test_bands_are_the_same_pixels_a_few_rows_at_a_time() -> None:
    image = Image.effect_noise((3, 2 * BAND_ROWS + 1), 50)
    bands = list(Raster(image).bands())
    assert [len(band) for band in bands] == [3 * BAND_ROWS, 3 * BAND_ROWS, 3]
    assert b"".join(bands) == image.tobytes()


def test_bands_upside_down_are_those_of_the_turned_picture() -> None:
    raster = Raster(Image.effect_noise((3, 2 * BAND_ROWS + 1), 50))
    turned = raster.turn_upside_down().image.tobytes()
    assert b"".join(raster.bands(upside_down=True)) == turned
    assert raster.to_pgm(upside_down=True).endswith(turned)


def test_two_half_turns_restore_the_image() -> None:
    raster = Raster(Image.linear_gradient("L"), 200)
    turned = raster.turn_upside_down()
    assert turned.image.tobytes() == raster.image.tobytes()[::-1]
    assert turned.turn_upside_down().image.tobytes() == raster.image.tobytes()
