"""The chosen result of a search, marked on the image of its page."""

from urllib.parse import parse_qs, urlsplit

import pytest

from quinion.servers import document_store
from tests.contract.console.conftest import Console
from tests.documents import PROSE, text_pdf

REF = "26/00004/FUL"


def test_a_passage_has_its_boxes_on_the_image_of_its_page(locked: Console) -> None:
    locked.enter()
    pdf = text_pdf(locked.home.files / "Letter.pdf", PROSE)
    locked.call(document_store.NAME, "ingest_document", file_path=str(pdf), application_ref=REF)
    found = locked.json("/?q=bicycles&kind=documents&mode=keyword")["passage"]
    assert parse_qs(urlsplit(found["image"]).query)["page"] == ["1"]
    assert found["boxes"]
    for x, y, width, height in found["boxes"]:
        assert 0 <= x < x + width <= 1
        assert 0 <= y < y + height <= 1
    picture = locked.get(found["image"])
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    page = locked.page("/?q=bicycles&kind=documents&mode=keyword")
    assert page.count("<rect ") == len(found["boxes"])


@pytest.mark.parametrize(
    ("query", "status"),
    [("server=document-store&chunk=none&page=1", 404), ("server=nothing&chunk=a&page=1", 400)],
)
def test_what_has_no_page_is_explained(locked: Console, query: str, status: int) -> None:
    locked.enter()
    assert locked.get(f"/evidence?{query}").status_code == status
