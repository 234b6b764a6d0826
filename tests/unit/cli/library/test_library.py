"""`quinion library …`, run in this process."""

import csv
import io
import shutil
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import anyio
import pytest

from quinion.cli.server_client import call, connect
from quinion.settings import Settings
from tests.contract.doclibrary.asking import open_png
from tests.contract.doclibrary.documents import (
    HEADER,
    PLAN_CAPTION,
    SURVEY,
    SURVEY_ELEMENTS,
    SURVEY_TITLE,
    letter,
    survey,
)
from tests.documents import truncated_pdf
from tests.unit.cli.conftest import Run

FAILED, WRONG_USE, HOME_IN_USE = 1, 2, 4


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Path:
    """Create a home with the survey in its library."""
    path = tmp_path_factory.mktemp("stock")
    (path / "models").symlink_to(models)
    file = survey(tmp_path_factory.mktemp("files") / "survey.pdf")

    async def fill() -> None:
        variables = {"QUINION_HOME": str(path), "CHROMA_PERSIST_DIR": str(path / "chroma")}
        settings = Settings.from_environment({**variables, "QUINION_WORKERS": "1"})
        async with connect(settings, "doclibrary") as client:
            await call(client, "add_document", {"file_path": str(file)})

    anyio.run(fill)
    return path


@pytest.fixture
def run(quinion: Run, home: Path, stock: Path) -> Run:
    """Runner of `quinion library` on a library with the survey."""
    shutil.copytree(stock, home, symlinks=True)
    return partial(quinion, "library")


class Links(HTMLParser):
    """Parser of a page's links, text and tags."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.text = ""
        self.tags: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.targets |= {value or "" for name, value in attrs if name in ("src", "href")}
        self.targets = {target for target in self.targets if not target.startswith("#")}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.slow
def test_documents_are_added_and_listed(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    letter(folder / "bats.pdf", "The bats of the old mill.")
    (folder / "notes.txt").write_text("No PDF.")
    ended = run("add", str(folder))
    added = "bats.pdf: bats, 1 page, no elements\n"
    assert (ended.status, ended.out) == (
        0,
        f"{added}1 file skipped because of its type: 1 .txt\n",
    )
    again = run("add", str(folder / "bats.pdf"))
    assert again.out == "bats.pdf: bats, 1 page, no elements (already in the library)\n"
    listed = run("list").out
    for word in ("bats", SURVEY, SURVEY_TITLE, "1 figure, 1 table, 1 equation"):
        assert word in listed
    assert [one["slug"] for one in run("list", "--json").json] == [SURVEY, "bats"]


@pytest.mark.slow
def test_failed_additions_are_reported_and_the_others_are_added(run: Run, tmp_path: Path) -> None:
    bad = truncated_pdf(tmp_path / "bad.pdf")
    good = letter(tmp_path / "good.pdf", "The bats of the old mill fly out at dusk.")
    ended = run("add", str(bad), str(good), "--json")
    assert ended.status == FAILED
    first, second = ended.json
    assert first["error"].startswith("Error: bad.pdf ")
    assert (second["file"], second["status"]) == (str(good), "added")
    ended = run("add", str(bad))
    assert ended.status == FAILED
    assert ended.err.startswith("quinion: bad.pdf: bad.pdf is damaged")
    for path in (tmp_path / "missing.pdf", tmp_path / "nothing"):
        assert run("add", str(path)).status == FAILED
    (tmp_path / "nothing").mkdir()
    assert run("add", str(tmp_path / "nothing")).status == WRONG_USE


def cells(table: str) -> dict[str, str]:
    """The rows of a printed table of names and values, each of one line."""
    rows = [line.split("│") for line in table.splitlines() if line.count("│") == 3]
    return {name.strip(): value.strip() for _, name, value, _ in rows if name.strip()}


def test_a_document_and_an_element_are_told_of(run: Run) -> None:
    rows = cells(run("show", SURVEY).out)
    assert rows["title"] == SURVEY_TITLE
    assert rows["total pages"] == "3"
    counts = "1 figure, 1 table, 1 equation, 1 diagram, 1 chart"
    assert rows["indexed elements"] == counts
    assert run("show", SURVEY, "--json").json["total_pages"] == 3
    shown = run("show", SURVEY, "fig. 8-1", "--json").json
    assert (shown["element_label"], shown["description"]) == ("Figure 8-1", PLAN_CAPTION)
    text = run("show", SURVEY, "Table 5", "--page", "2").out
    assert cells(text)["element type"] == "table"
    assert "latex" not in text


@pytest.mark.parametrize("what", [("Figure 8-1",), ("--page", "2"), ("Table 5", "--page", "2")])
def test_a_picture_is_written(run: Run, tmp_path: Path, what: tuple[str, ...]) -> None:
    out = tmp_path / "out.png"
    ended = run("show", SURVEY, *what, "--out", str(out))
    assert ended.status == 0, ended.err
    open_png(out.read_bytes())
    assert f"Written: {out}" in ended.err


def test_what_is_not_there_is_one_line(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    for arguments, words in (
        (("show", "survay"), "Did you mean: survey?"),
        (("show", SURVEY, "Figure 77"), "Element 'Figure 77' not found"),
        (("show", SURVEY, "--page", "9", "--out", str(out)), "Page 9 not found."),
        (("show", SURVEY, "Table 5", "--out", str(tmp_path / "no" / "a.png")), "cannot be written"),
        (("elements", "nothing"), "Document 'nothing' not found."),
        (("export", "nothing", str(tmp_path / "export")), "Document 'nothing' not found."),
        (("remove", "nothing", "--yes"), "Document 'nothing' not found."),
    ):
        ended = run(*arguments)
        assert ended.status == FAILED
        [line] = ended.err.splitlines()
        assert line.startswith("quinion: ")
        assert words in line
    assert run("show", SURVEY, "--out", str(out)).status == WRONG_USE
    assert not out.exists()
    assert not (tmp_path / "export").exists()


def test_elements_are_listed(run: Run) -> None:
    found = run("elements", SURVEY, "--json").json
    assert {
        one["element_label"]: (one["element_type"], one["page_number"]) for one in found
    } == SURVEY_ELEMENTS
    assert [one["element_label"] for one in found] == list(SURVEY_ELEMENTS)
    text = run("elements", SURVEY).out
    assert all(label in text for label in SURVEY_ELEMENTS)
    tables = run("elements", SURVEY, "--type", "table", "--json").json
    wanted = [label for label, (kind, _) in SURVEY_ELEMENTS.items() if kind == "table"]
    assert [one["element_label"] for one in tables] == wanted
    assert run("elements", SURVEY, "--type", "poem").status == WRONG_USE


def test_an_export_opens_as_one_page(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "export"
    ended = run("export", SURVEY, str(folder))
    assert (ended.status, ended.out) == (0, f"5 elements: {folder / 'index.html'}\n")
    page = Links(folder / "index.html")
    assert page.tags.count("img") == len(SURVEY_ELEMENTS)
    assert page.targets
    assert {path.name for path in folder.iterdir()} == page.targets | {"index.html"}
    for path in folder.glob("*.png"):
        open_png(path.read_bytes())
    for word in (SURVEY_TITLE, PLAN_CAPTION, *SURVEY_ELEMENTS):
        assert word in page.text
    [rows] = folder.glob("*.csv")
    assert next(csv.reader(io.StringIO(rows.read_text()))) == list(HEADER)
    # Existing folders are never overwritten.
    assert run("export", SURVEY, str(folder)).status == WRONG_USE
    assert [path.name for path in folder.parent.iterdir()] == ["export"]


def test_a_document_is_removed_when_its_user_says_so(run: Run, home: Path) -> None:
    assert run("remove", SURVEY, typed="n\n").status == FAILED
    assert [one["slug"] for one in run("list", "--json").json] == [SURVEY]
    ended = run("remove", SURVEY, "--json", typed="y\n")
    assert ended.status == 0
    assert ended.json["slug"] == SURVEY
    assert run("list", "--json").json == []
    assert "The library is empty." in run("list").out
    assert not [path for path in (home / "library").rglob("*") if path.is_file()]


def test_an_original_outlives_a_start_without_the_vectors(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as other:
        other.setenv("CHROMA_PERSIST_DIR", str(tmp_path / "elsewhere"))
        assert run("list", "--json").json == []
    assert len(list((home / "originals").iterdir())) == 1
    out = tmp_path / "out.png"
    assert run("show", SURVEY, "Figure 8-1", "--out", str(out)).status == 0
