import io
from pathlib import Path

import pytest

from quinion.errors import ExtractionFailed
from quinion.extract.pdf import reader
from quinion.extract.pdf.mupdf import pymupdf
from quinion.extract.pdf.reader import open_pdf
from tests.documents import PROSE, locked_pdf, picture_of_lines, text_pdf, truncated_pdf

A4 = (595, 842)


def page_of(document: pymupdf.Document) -> pymupdf.Page:
    return document.new_page(width=A4[0], height=A4[1])


def add_picture(page: pymupdf.Page, box: tuple[float, float, float, float]) -> None:
    stream = io.BytesIO()
    picture_of_lines().save(stream, "PNG")
    page.insert_image(box, stream=stream.getvalue(), keep_proportion=False)


def add_walls(page: pymupdf.Page) -> None:
    for step in range(10):
        page.draw_line((50 + 50 * step, 50), (50 + 50 * step, 780))


def ratio_of(document: pymupdf.Document, path: Path) -> float:
    document.save(path)
    with open_pdf(path) as reader:
        return reader.measure(0).image_ratio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plan.pdf"


@pytest.fixture
def document() -> pymupdf.Document:
    return pymupdf.open()


def test_images_that_overlap_are_counted_once(document: pymupdf.Document, path: Path) -> None:
    page = page_of(document)
    add_picture(page, (0, 0, 595, 421))
    add_picture(page, (0, 0, 595, 300))
    assert ratio_of(document, path) == pytest.approx(0.5, abs=0.01)


def test_an_image_larger_than_the_page_covers_it_once(
    document: pymupdf.Document, path: Path
) -> None:
    add_picture(page_of(document), (-100, -100, 700, 900))
    assert ratio_of(document, path) == 1.0


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_rotated_page_has_the_same_ratio(
    document: pymupdf.Document, path: Path, rotation: int
) -> None:
    page = page_of(document)
    add_picture(page, (0, 421, 595, 842))
    page.set_rotation(rotation)
    assert ratio_of(document, path) == pytest.approx(0.5, abs=0.01)


def test_only_content_inside_the_crop_box_counts(document: pymupdf.Document, path: Path) -> None:
    page = page_of(document)
    add_picture(page, (0, 0, 595, 421))
    page.set_cropbox(pymupdf.Rect(0, 400, 595, 842))
    assert ratio_of(document, path) == pytest.approx(21 / 442, abs=0.01)


def test_lines_without_running_text_count_as_far_as_they_span(
    document: pymupdf.Document, path: Path
) -> None:
    page = page_of(document)
    add_walls(page)
    page.insert_text((60, 800), "Ground floor plan 1:100")
    assert ratio_of(document, path) == pytest.approx(450 * 730 / (595 * 842), abs=0.02)


def test_lines_around_running_text_are_no_picture(document: pymupdf.Document, path: Path) -> None:
    page = page_of(document)
    add_walls(page)
    page.insert_text((60, 100), PROSE, fontsize=9)
    assert ratio_of(document, path) == 0.0


def test_the_rules_of_a_table_are_no_picture(document: pymupdf.Document, path: Path) -> None:
    page = page_of(document)
    add_walls(page)
    for row in range(1, 15):
        for column in range(9):
            page.insert_text((54 + 50 * column, 50 * row), f"{row}{column}.50", fontsize=14)
    assert ratio_of(document, path) == 0.0


def test_a_coloured_background_is_no_picture(document: pymupdf.Document, path: Path) -> None:
    page = page_of(document)
    page.draw_rect(page.rect, color=None, fill=(0.9, 0.9, 1))
    page.insert_text((60, 100), "Local Plan")
    assert ratio_of(document, path) == 0.0


def test_rendering_has_the_resolution_that_was_asked_for(path: Path) -> None:
    with open_pdf(text_pdf(path, PROSE)) as reader:
        small, large = reader.rasterize(0, 100, 10**8), reader.rasterize(0, 200, 10**8)
    assert (small.dpi, large.dpi) == (100, 200)
    assert large.image.width == pytest.approx(2 * small.image.width, abs=2)


def test_a_page_as_large_as_a_house_is_rendered_within_the_limit(
    document: pymupdf.Document, path: Path
) -> None:
    document.new_page(width=14_400, height=7_200)
    document.save(path)
    with open_pdf(path) as reader:
        raster = reader.rasterize(0, 300, 1_000_000)
    assert raster.image.width * raster.image.height < 1_005_000
    assert raster.image.width == pytest.approx(2 * raster.image.height, abs=2)
    assert raster.dpi == pytest.approx(7, abs=1)


def test_a_password_is_asked_for_by_name(path: Path) -> None:
    with (
        pytest.raises(ExtractionFailed, match="encrypted and needs a password"),
        open_pdf(locked_pdf(path)),
    ):
        pass


def test_a_file_that_may_be_read_but_not_changed_is_read(path: Path) -> None:
    with open_pdf(locked_pdf(path, to_open=False)) as reader:
        assert reader.text(0).split() == PROSE.split()


def test_an_interrupted_download_is_damaged(path: Path) -> None:
    with pytest.raises(ExtractionFailed, match="damaged"), open_pdf(truncated_pdf(path)):
        pass


def test_a_page_that_is_missing_is_named(document: pymupdf.Document, path: Path) -> None:
    for _ in range(3):
        page_of(document)
    document.save(path)
    # The catalogue promises a page that the tree does not have.
    path.write_bytes(path.read_bytes().replace(b"/Count 3", b"/Count 4"))
    with open_pdf(path) as reader:
        assert reader.page_count == 4
        with pytest.raises(ExtractionFailed, match=r"Page 4 of plan\.pdf is damaged"):
            reader.text(3)


def test_a_page_with_an_image_within_a_line_has_the_text_that_it_has_without(
    document: pymupdf.Document, path: Path
) -> None:
    page = page_of(document)
    for line in range(8):
        page.insert_text((50, 60 + 20 * line), "Text runs before it and")
        add_picture(page, (190, 50 + 20 * line, 200, 60 + 20 * line))
        page.insert_text((202, 60 + 20 * line), "after it too, on the same line.")
    document.save(path)
    with open_pdf(path) as reader:
        found = reader.measure(0)
        assert found.text == reader.text(0)
        assert found.image_ratio == pytest.approx(8 * 100 / (595 * 842), abs=0.001)
        assert found.hidden == 0


def test_a_page_with_more_text_than_a_page_has_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text_pdf(path, "short", PROSE)
    monkeypatch.setattr(reader, "MAX_PAGE_CHARACTERS", 100)
    with open_pdf(path) as file:
        assert file.text(0) == "short\n"
        for read in (file.text, file.measure):
            with pytest.raises(ExtractionFailed, match=r"Page 2 of .* at most 100 are read"):
                read(1)
