from pathlib import Path

from PIL import Image, ImageDraw, ImageOps
from PIL.Image import Transpose

from quinion.extract.ocr.raster import Raster
from quinion.extract.scans.scan_decision import PageKind
from quinion.extract.scans.scan_probe import classify
from tests.documents import PROSE, photo, picture_of, picture_of_lines

RECEIPT = "\n".join(
    ["CORNER SHOP", "12 High Street", *(f"Item {n}  {n}.50" for n in range(11, 25)), "Total 245.00"]
)
DPI = 150


def judge_image(image: Image.Image) -> PageKind:
    return classify(Raster(image, DPI))


def test_a_page_of_prose_is_text() -> None:
    assert judge_image(picture_of(PROSE, DPI)) is PageKind.TEXT


def test_white_on_black_is_text_too() -> None:
    assert judge_image(ImageOps.invert(picture_of(PROSE, DPI))) is PageKind.TEXT


def test_prose_upside_down_is_text() -> None:
    assert judge_image(picture_of(PROSE, DPI).transpose(Transpose.ROTATE_180)) is PageKind.TEXT


def test_a_receipt_of_short_lines_is_text() -> None:
    assert judge_image(picture_of(RECEIPT, DPI)) is PageKind.TEXT


def test_a_receipt_upside_down_is_text() -> None:
    assert judge_image(picture_of(RECEIPT, DPI).transpose(Transpose.ROTATE_180)) is PageKind.TEXT


def test_prose_beside_a_photograph_is_text() -> None:
    prose = picture_of(PROSE, DPI)
    page = Image.new("L", (prose.width, prose.height + 900), "white")
    page.paste(prose, (0, 900))
    page.paste(Image.effect_noise((prose.width - 80, 800), 90), (40, 40))
    assert judge_image(page) is PageKind.TEXT


def test_lines_are_a_picture() -> None:
    assert judge_image(picture_of_lines()) is PageKind.PICTURE


def test_a_drawing_with_room_names_is_a_picture() -> None:
    drawing = picture_of_lines()
    for place, room in enumerate(["Bedroom", "Bathroom", "Hall and stairs", "Scale 1:50"]):
        label = ImageOps.invert(picture_of(room, DPI))
        drawing.paste("black", (60 + 190 * place, 90 + 110 * place), label)
    assert judge_image(drawing) is PageKind.PICTURE


def test_a_photograph_is_a_picture(tmp_path: Path) -> None:
    with Image.open(photo(tmp_path / "photo.png")) as image:
        assert judge_image(image.convert("L")) is PageKind.PICTURE


def test_an_empty_sheet_with_a_speck_is_blank() -> None:
    sheet = Image.new("L", (1240, 1754), 245)
    ImageDraw.Draw(sheet).ellipse((300, 300, 312, 312), fill=20)
    assert judge_image(sheet) is PageKind.BLANK
