"""The library in the console: gallery, tables and pages."""

from collections.abc import Iterator

import pytest

from quinion.servers import doclibrary
from tests.contract.conftest import NewHome
from tests.contract.console.conftest import Console, open_console
from tests.contract.doclibrary.documents import survey
from tests.contract.local import Shared

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def console(shared: Shared, new_home: NewHome) -> Iterator[Console]:
    with open_console(shared, new_home()) as console:
        console.enter()
        assert "The library is empty" in console.page("/library")
        report = survey(console.home.files / "survey.pdf")
        console.call(doclibrary.NAME, "add_document", file_path=str(report))
        yield console


def test_a_figure_is_found_in_the_gallery(console: Console) -> None:
    [document] = console.json("/library")["documents"]
    gallery = console.json(document["address"])
    figures = console.json(f"{document['address']}?type=figure")["elements"]
    assert {one["type"] for one in figures} == {"figure"}
    assert 0 < len(figures) < len(gallery["elements"])
    picture = console.get(figures[0]["image"])
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(PNG)


def test_a_table_can_be_downloaded_as_csv(console: Console) -> None:
    [document] = console.json("/library")["documents"]
    tables = console.json(f"{document['address']}?type=table")["elements"]
    csv = console.get(next(one["csv"] for one in tables if one["csv"]))
    assert csv.headers["content-type"].startswith("text/csv")
    assert len(csv.text.splitlines()) > 1
    assert "," in csv.text


def test_pages_are_images_with_a_way_on(console: Console) -> None:
    [document] = console.json("/library")["documents"]
    page = console.json(f"{document['address']}/page/1")
    assert page["before"] is None
    assert console.get(page["image"]).content.startswith(PNG)
    assert console.get(f"{document['address']}/page/x").status_code == 404
    assert console.get("/library/nothing").status_code == 404
    assert console.get("/library/picture?document=nothing&page=1").status_code == 404
