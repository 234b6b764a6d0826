import io
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from quinion.model.element import Box
from tests.element_documents import HEIGHT, WIDTH, Paper, turned
from tests.unit.elements.conftest import Worker


def picture(
    worker: Worker, path: Path, box: Box | None = None, page: int = 1, **limits: Any
) -> tuple[Image.Image, int]:
    sides = None if box is None else {"x0": box.x0, "y0": box.y0, "x1": box.x1, "y1": box.y1}
    [item] = worker.ask("picture", path=str(path), page=page, box=sides, limits=limits)
    png = b64decode(item["png"])
    image = Image.open(io.BytesIO(png))
    assert image.format == "PNG"
    return image.convert("L"), len(png)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    with Paper(tmp_path / "plan.pdf") as paper:
        paper.prose(60, 8)
        paper.drawing(Box(100, 300, 300, 500))
    return tmp_path / "plan.pdf"


def test_a_page_is_rendered_completely_and_sharply(worker: Worker, plan: Path) -> None:
    image, _ = picture(worker, plan, max_side=4_000)
    assert image.size == (round(WIDTH * 200 / 72), round(HEIGHT * 200 / 72))


def test_no_side_is_longer_than_asked_for(worker: Worker, plan: Path) -> None:
    image, _ = picture(worker, plan, max_side=500)
    assert max(image.size) == 500


def test_a_crop_has_its_element_and_a_little_around_it(worker: Worker, plan: Path) -> None:
    image, _ = picture(worker, plan, Box(100, 300, 300, 500), dpi=72)
    assert image.size == (208, 208)
    assert image.getpixel((1, 1)) == 255
    assert image.getpixel((100, 4)) < 128  # type: ignore[operator]


def test_a_crop_of_a_rotated_page_matches_the_displayed_page(
    worker: Worker, plan: Path, tmp_path: Path
) -> None:
    path = turned(plan, tmp_path / "turned.pdf", 90)
    image, _ = picture(worker, path, Box(HEIGHT - 500, 100, HEIGHT - 300, 300), dpi=72)
    assert image.getpixel((1, 1)) == 255
    assert image.getpixel((100, 4)) < 128  # type: ignore[operator]


def test_a_picture_shrinks_until_it_can_be_sent(worker: Worker, tmp_path: Path) -> None:
    with Paper(tmp_path / "noise.pdf") as paper:
        noise = io.BytesIO()
        Image.effect_noise((900, 900), 120).save(noise, "PNG")
        paper.page.insert_image(paper.page.rect, stream=noise.getvalue())
    image, size = picture(worker, tmp_path / "noise.pdf", max_bytes=100_000)
    assert size <= 100_000
    assert min(image.size) > 100


def test_a_page_that_is_not_there_is_refused(worker: Worker, plan: Path) -> None:
    for page in (0, 2):
        with pytest.raises(RuntimeError, match=f"InvalidInput: .*no page {page}"):
            picture(worker, plan, page=page)


def test_a_box_off_the_page_is_refused(worker: Worker, plan: Path) -> None:
    with pytest.raises(RuntimeError, match=r"InvalidInput: The box .* is outside of page 1"):
        picture(worker, plan, Box(2000, 2000, 2100, 2100))
