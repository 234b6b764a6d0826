import io
from pathlib import Path
from typing import Any

import pytest
from PIL import ExifTags, Image

from quinion.errors import InvalidInput
from quinion.extract.page_image import HIGHLIGHT, Marks, PictureLimits, render_page
from quinion.model.element import Box
from tests.element_documents import HEIGHT, WIDTH, Paper, turned


def picture(
    path: Path, box: Box | None = None, page: int = 1, **limits: Any
) -> tuple[Image.Image, int]:
    png = render_page(path, page, box=box, limits=PictureLimits(**limits))
    return open_png(png).convert("L"), len(png)


def open_png(png: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(png))
    assert image.format == "PNG"
    return image


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    with Paper(tmp_path / "plan.pdf") as paper:
        paper.prose(60, 8)
        paper.drawing(Box(100, 300, 300, 500))
    return tmp_path / "plan.pdf"


def test_a_page_is_rendered_completely_and_sharply(plan: Path) -> None:
    image, _ = picture(plan, max_side=4_000)
    assert image.size == (round(WIDTH * 200 / 72), round(HEIGHT * 200 / 72))


def test_no_side_is_longer_than_asked_for(plan: Path) -> None:
    image, _ = picture(plan, max_side=500)
    assert max(image.size) == 500


def test_a_crop_has_its_element_and_a_little_around_it(plan: Path) -> None:
    image, _ = picture(plan, Box(100, 300, 300, 500), dpi=72)
    assert image.size == (208, 208)
    assert image.getpixel((1, 1)) == 255
    assert image.getpixel((100, 4)) < 128  # type: ignore[operator]


def test_a_crop_of_a_rotated_page_matches_the_displayed_page(plan: Path, tmp_path: Path) -> None:
    path = turned(plan, tmp_path / "turned.pdf", 90)
    image, _ = picture(path, Box(HEIGHT - 500, 100, HEIGHT - 300, 300), dpi=72)
    assert image.getpixel((1, 1)) == 255
    assert image.getpixel((100, 4)) < 128  # type: ignore[operator]


def test_a_picture_shrinks_until_it_can_be_sent(tmp_path: Path) -> None:
    with Paper(tmp_path / "noise.pdf") as paper:
        noise = io.BytesIO()
        Image.effect_noise((900, 900), 120).save(noise, "PNG")
        paper.page.insert_image(paper.page.rect, stream=noise.getvalue())
    image, size = picture(tmp_path / "noise.pdf", max_bytes=100_000)
    assert size <= 100_000
    assert min(image.size) > 100


def test_a_page_that_is_not_there_is_refused(plan: Path) -> None:
    for page in (0, 2):
        with pytest.raises(InvalidInput, match=f"no page {page}"):
            picture(plan, page=page)


def test_a_box_off_the_page_is_refused(plan: Path) -> None:
    with pytest.raises(InvalidInput, match=r"The box .* is outside of page 1"):
        picture(plan, Box(2000, 2000, 2100, 2100))


def colours(image: Image.Image) -> set[object]:
    return {colour for _, colour in image.convert("RGB").getcolors(1 << 24) or ()}


def test_marks_colour_the_paper_and_leave_the_text_black(plan: Path) -> None:
    boxes = [(0.1, 0.05, 0.9, 0.2), (0.1, 0.15, 0.9, 0.3)]
    bare = open_png(render_page(plan, 1)).convert("RGB")
    marked = open_png(render_page(plan, 1, marks=Marks(boxes))).convert("RGB")
    width, height = marked.size
    inside = (width * 0.1, height * 0.05, width * 0.9, height * 0.2)
    assert HIGHLIGHT in colours(marked.crop(inside))
    # Where two boxes overlap, the colour is the same.
    assert (255, 255, 255) not in colours(marked.crop(inside))
    darkest = (image.crop(inside).convert("L").histogram() for image in (bare, marked))
    assert [next(i for i, count in enumerate(one) if count) for one in darkest] == [0, 0]
    outside = (0, int(marked.height * 0.32), marked.width, marked.height)
    assert marked.crop(outside).tobytes() == bare.crop(outside).tobytes()


def test_a_clip_has_only_its_part_of_the_page_and_of_the_marks(plan: Path) -> None:
    marks = Marks([(0.0, 0.0, 1.0, 0.1)])
    clipped = open_png(render_page(plan, 1, clip=(0.0, 0.05, 1.0, 0.25), marks=marks))
    whole = open_png(render_page(plan, 1))
    assert clipped.width / clipped.height == pytest.approx(5 * whole.width / whole.height, rel=0.02)
    rows = clipped.convert("RGB").resize((1, 20)).tobytes()
    blue = [rows[3 * row + 2] for row in range(20)]
    assert max(blue[:4]) < 160 < min(blue[6:])


@pytest.mark.parametrize("extension", [".png", ".tiff"])
def test_an_image_file_is_shown_upright_at_its_own_pixels(tmp_path: Path, extension: str) -> None:
    image = Image.new("RGB", (300, 100), "white")
    image.paste((0, 0, 0), (0, 0, 30, 100))
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6  # to be turned clockwise
    path = tmp_path / f"copy-of-{extension[1:]}"
    image.save(path, extension[1:].upper(), exif=exif)
    shown = open_png(render_page(path, 1, extension=extension)).convert("L")
    assert shown.size == (100, 300)
    assert shown.getpixel((50, 10)) == 0
    assert shown.getpixel((50, 290)) == 255
    with pytest.raises(InvalidInput, match="no page 2"):
        render_page(path, 2, extension=extension)
