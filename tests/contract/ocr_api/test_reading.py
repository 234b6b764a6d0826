"""What becomes of documents: headings, lists, tables, figures, headers, scans."""

import base64
import io
from pathlib import Path

import httpx2
import pytest
from mistralai.client import Mistral
from PIL import Image

from tests.contract.ocr_api.asking import ROWS, Json, as_data, process, read, report, upload
from tests.contract.ocr_api.conftest import KEY, Endpoint
from tests.documents import (
    PROSE,
    Blank,
    Drawing,
    Scan,
    Text,
    locked_pdf,
    make_pdf,
    picture_of,
    text_pdf,
    truncated_pdf,
)

WORDS = "two hundred covered cycle parking spaces"


def test_the_official_client_reads_a_document(endpoint: Endpoint, tmp_path: Path) -> None:
    path = report(tmp_path / "report.pdf")
    with Mistral(api_key=KEY, server_url=endpoint.address) as mistral:
        file = mistral.files.upload(
            file={"file_name": "report.pdf", "content": path.read_bytes()}, purpose="ocr"
        )
        assert (file.filename, file.size_bytes) == ("report.pdf", path.stat().st_size)
        signed = mistral.files.get_signed_url(file_id=file.id, expiry=1)
        answer = mistral.ocr.process(
            model="mistral-ocr-latest",
            document={"type": "document_url", "document_url": signed.url},
            include_image_base64=True,
        )
        assert mistral.files.delete(file_id=file.id).deleted
    assert answer.model == "mistral-ocr-latest"
    assert answer.usage_info.pages_processed == 1
    assert answer.usage_info.doc_size_bytes == path.stat().st_size
    [page] = answer.pages
    assert page.index == 0
    assert WORDS in page.markdown
    assert endpoint.files() == []


@pytest.mark.parametrize("scanned", [False, True], ids=["text layer", "scan"])
def test_headings_lists_and_tables_are_found(
    client: httpx2.Client, tmp_path: Path, scanned: bool
) -> None:
    [page] = read(client, report(tmp_path / "report.pdf", scanned=scanned))
    lines = page["markdown"].splitlines()
    assert [line.lstrip("# ") for line in lines if line.startswith("#")] == [
        "Cycle Parking Survey",
        "Findings",
    ]
    assert "- Most stands are full." in [line.strip() for line in lines]
    assert "- Some stands are broken." in [line.strip() for line in lines]
    for row in ROWS:
        assert f"|{'|'.join(row)}|" in [line.replace("**", "") for line in lines]


def test_headings_have_their_depth_by_their_size(client: httpx2.Client, tmp_path: Path) -> None:
    [page] = read(client, report(tmp_path / "report.pdf"))
    assert "# Cycle Parking Survey" in page["markdown"].splitlines()
    assert "## Findings" in page["markdown"].splitlines()


def test_header_and_footer_stand_apart(client: httpx2.Client, tmp_path: Path) -> None:
    [page] = read(client, report(tmp_path / "report.pdf"))
    assert page["header"] == "Borough Council, Annual Report"
    assert page["footer"] == "17"
    assert "Borough Council" not in page["markdown"]


@pytest.mark.parametrize("scanned", [False, True], ids=["text layer", "scan"])
def test_a_figure_is_cut_out_where_it_stands(
    client: httpx2.Client, tmp_path: Path, scanned: bool
) -> None:
    path = report(tmp_path / "report.pdf", scanned=scanned)
    [page] = read(client, path, include_image_base64=True)
    [image] = page["images"]
    assert f"![{image['id']}]({image['id']})" in page["markdown"]
    picture = _decode(image)
    box = [image[f"{corner}_{side}"] for corner in ("top_left", "bottom_right") for side in "xy"]
    assert picture.size == (box[2] - box[0], box[3] - box[1])
    dpi = page["dimensions"]["dpi"]
    assert [round(value * 72 / dpi) for value in box] == pytest.approx([120, 390, 460, 632], abs=25)
    assert page["dimensions"]["width"] == pytest.approx(595 * dpi / 72, abs=2)


def test_without_image_data_boxes_come_alone(client: httpx2.Client, tmp_path: Path) -> None:
    [page] = read(client, report(tmp_path / "report.pdf"))
    assert [image["image_base64"] for image in page["images"]] == [None]


@pytest.mark.parametrize("wish", [{"image_limit": 0}, {"image_min_size": 5000}])
def test_images_can_be_limited(
    client: httpx2.Client, tmp_path: Path, wish: dict[str, object]
) -> None:
    [page] = read(client, report(tmp_path / "report.pdf"), **wish)
    assert page["images"] == []


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP"])
def test_an_image_is_read_whatever_it_is_called(
    client: httpx2.Client, tmp_path: Path, format: str
) -> None:
    path = tmp_path / "page"
    picture_of(PROSE).save(path, format)
    answer = process(client, {"type": "image_url", "image_url": as_data(path, "image/x")})
    assert WORDS in answer.json()["pages"][0]["markdown"]


def test_the_other_forms_of_a_document_are_taken(client: httpx2.Client, tmp_path: Path) -> None:
    path = text_pdf(tmp_path / "report.pdf", PROSE)
    file_id = upload(client, path)
    for document in (
        {"type": "file", "file_id": file_id},
        {"type": "document_url", "document_url": as_data(path)},
        {"document_url": as_data(path), "document_name": "x"},
        {"type": "image_url", "image_url": {"url": as_data(path)}},
        {"type": "document_url", "document_url": _sign(client, file_id)},
    ):
        assert WORDS in process(client, document).json()["pages"][0]["markdown"]
    client.delete(f"/v1/files/{file_id}")


@pytest.mark.parametrize(
    ("pages", "indexes"),
    [([0, 2], [0, 2]), ([11, 3, 3], [3, 11]), ("1,3-5", [1, 3, 4, 5]), (None, list(range(12)))],
)
def test_pages_are_chosen_and_come_in_order(
    client: httpx2.Client, tmp_path: Path, pages: object, indexes: list[int]
) -> None:
    texts = [f"This is page {number} of twelve.\n{PROSE}" for number in range(12)]
    got = read(client, text_pdf(tmp_path / "long.pdf", *texts), pages=pages)
    assert [page["index"] for page in got] == indexes
    assert all(f"This is page {page['index']} of" in page["markdown"] for page in got)


def test_every_page_has_what_is_on_it(client: httpx2.Client, tmp_path: Path) -> None:
    path = make_pdf(
        tmp_path / "mixed.pdf", [Text(PROSE), Scan(PROSE, cover=0.9), Blank(), Drawing()]
    )
    pages = read(client, path, include_image_base64=True)
    assert [WORDS in page["markdown"] for page in pages] == [True, True, False, False]
    assert pages[2]["markdown"] == ""
    assert pages[3]["markdown"] == "![img-4-1.jpeg](img-4-1.jpeg)"
    assert _decode(pages[3]["images"][0]).width > 300


def test_a_page_upside_down_is_read_upright(client: httpx2.Client, tmp_path: Path) -> None:
    path = tmp_path / "turned.png"
    picture_of(PROSE).transpose(Image.Transpose.ROTATE_180).save(path)
    [page] = read(client, path)
    assert WORDS in page["markdown"]


@pytest.mark.parametrize("make", [locked_pdf, truncated_pdf], ids=["locked", "truncated"])
def test_a_file_that_cannot_be_read_is_its_own_error(
    client: httpx2.Client, tmp_path: Path, make: object
) -> None:
    assert callable(make)
    answer = process(
        client, {"type": "document_url", "document_url": as_data(make(tmp_path / "bad.pdf"))}
    )
    assert answer.status_code == 400
    error = answer.json()
    assert error["object"] == "error"
    assert error["type"] == "document_parser_invalid_file"
    assert error["message"].startswith("The document is ")
    [page] = read(client, text_pdf(tmp_path / "good.pdf", PROSE))
    assert WORDS in page["markdown"]


def _decode(image: Json) -> Image.Image:
    header, data = image["image_base64"].split(",")
    assert header == "data:image/jpeg;base64"
    return Image.open(io.BytesIO(base64.b64decode(data)))


def _sign(client: httpx2.Client, file_id: str) -> str:
    url: str = client.get(f"/v1/files/{file_id}/url").json()["url"]
    return url
