"""Requests to the endpoint, and documents for it."""

import base64
import io
from pathlib import Path
from typing import Any

import httpx2

from quinion.extract.pdf.mupdf import pymupdf
from tests.documents import PROSE, picture_of_lines

Json = dict[str, Any]
ROWS = (("Fruit", "Weight", "Price"), ("Apples", "12 kg", "30.50"), ("Pears", "7 kg", "21.00"))


def upload(client: httpx2.Client, path: Path) -> str:
    """Upload a file; its id."""
    files = {"file": (path.name, path.read_bytes())}
    answer = client.post("/v1/files", files=files, data={"purpose": "ocr"})
    assert answer.status_code == 200, answer.text
    file_id: str = answer.json()["id"]
    return file_id


def process(client: httpx2.Client, document: Json, **wishes: object) -> httpx2.Response:
    """Ask for OCR."""
    body = {"model": "mistral-ocr-latest", "document": document, **wishes}
    return client.post("/v1/ocr", json=body)


def read(client: httpx2.Client, path: Path, **wishes: object) -> list[Json]:
    """The pages of a file that is uploaded, read and deleted."""
    file_id = upload(client, path)
    answer = process(client, {"type": "file", "file_id": file_id}, **wishes)
    assert client.delete(f"/v1/files/{file_id}").status_code == 200
    assert answer.status_code == 200, answer.text
    pages: list[Json] = answer.json()["pages"]
    return pages


def as_data(path: Path, mime: str = "application/pdf") -> str:
    """A file as a data: address."""
    return f"data:{mime};base64,{base64.b64encode(path.read_bytes()).decode()}"


def report(path: Path, *, scanned: bool = False) -> Path:
    """A page with a header, a title, text, a list, a table, a figure and a page number."""
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_text((220, 30), "Borough Council, Annual Report", fontsize=8)
        page.insert_text((72, 90), "Cycle Parking Survey", fontsize=24, fontname="hebo")
        page.insert_text((72, 130), PROSE, fontsize=11)
        page.insert_text((72, 210), "Findings", fontsize=16, fontname="hebo")
        for number, text in enumerate(("Most stands are full.", "Some stands are broken.")):
            page.insert_text((85, 235 + 16 * number), f"• {text}", fontsize=11)
        _draw_table(page, 72, 280)
        stream = io.BytesIO()
        picture_of_lines().convert("RGB").save(stream, "PNG")
        page.insert_image((120, 390, 460, 632), stream=stream.getvalue())
        page.insert_text((300, 815), "17", fontsize=8)
        if scanned:
            picture = page.get_pixmap(dpi=200).tobytes("png")
            sheet = document.new_page()
            sheet.insert_image(sheet.rect, stream=picture)
            document.delete_page(0)
        document.save(path)
    return path


def _draw_table(page: pymupdf.Page, left: float, top: float) -> None:
    width, height = 130, 24
    for row, cells in enumerate(ROWS):
        for column, text in enumerate(cells):
            x, y = left + column * width, top + row * height
            page.draw_rect((x, y, x + width, y + height))
            page.insert_text((x + 8, y + 16), text, fontsize=11)
