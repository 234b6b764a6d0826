"""`quinion policy diff`, from the arguments to the exit status, in this process."""

import shutil
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import anyio
import pytest

from quinion.cli.policy.diff_text import format_rows
from quinion.cli.server_client import call, connect
from quinion.model.comparison import Change, Comparison, Row, SectionText
from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft, RevisionUpdate
from quinion.settings import Settings
from quinion.store.policies import open_registry
from tests.contract.policy_kb.plans import NEW_HOMES, OLD_HOMES, ROADS, plan
from tests.unit.cli.conftest import Ended, Run

FAILED, WRONG_USE = 1, 2
BARE, OLD, NEW = "rev_PLAN_2019_01", "rev_PLAN_2023_09", "rev_PLAN_2024_12"


@pytest.fixture(scope="session")
def compared(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two texts of a plan, and a revision without a text."""
    folder = tmp_path_factory.mktemp("compared")
    home = folder / "home"
    home.mkdir()
    (home / "models").symlink_to(models)
    registry = open_registry(home / "policies.db")
    registry.create_policy(PolicyDraft("PLAN", "A <plan>", PolicyCategory.LOCAL_PLAN))
    for label, start, end in (
        ("2019", date(2019, 1, 1), date(2019, 12, 31)),
        ("Old <2023>", date(2023, 9, 5), None),
        ("New", date(2024, 12, 12), None),
    ):
        registry.create_revision("PLAN", RevisionDraft(label, start, end))
    registry.close()

    async def fill() -> None:
        settings = Settings(home=home, chroma_dir=home / "chroma", workers=1)
        async with connect(settings, "policy-kb") as client:
            for revision_id, homes in ((OLD, OLD_HOMES), (NEW, NEW_HOMES)):
                file = plan(folder / f"{revision_id}.pdf", homes, ROADS)
                named = {"source": "PLAN", "revision_id": revision_id, "file_path": str(file)}
                answer = await call(client, "ingest_policy_revision", named)
                assert answer["status"] == "success", answer

    anyio.run(fill)
    return home


@pytest.fixture
def run(compared: Path, home: Path, quinion: Run) -> Run:
    """Runs `quinion policy` with these arguments on a copy of that home."""
    shutil.copytree(compared, home, symlinks=True)

    def execute(*arguments: str) -> Ended:
        return quinion("policy", *arguments)

    return execute


def data_of(ended: Ended) -> Any:
    assert ended.status == 0, ended.err
    return ended.json


def test_the_two_newest_texts_are_compared_unless_others_are_named(run: Run) -> None:
    found = data_of(run("diff", "PLAN", "--json"))
    assert (found["before"]["revision_id"], found["after"]["revision_id"]) == (OLD, NEW)
    assert found["counts"]["added"] == found["counts"]["removed"] == 1
    assert found["counts"]["renumbered"] == 2
    assert found["reworded"] == 1
    named = data_of(run("diff", "PLAN", "2023-10-01", NEW, "--json"))
    assert named == found
    back = data_of(run("diff", "PLAN", NEW, OLD, "--json"))
    assert (back["before"], back["after"]) == (found["after"], found["before"])


def test_json_has_every_section_with_its_differences(run: Run) -> None:
    rows = data_of(run("diff", "PLAN", "--json"))["rows"]
    assert len(rows) == 3 + len(ROADS) + 4
    [row] = [row for row in rows if row["differences"]]
    assert (row["change"], row["flags"]) == ("renumbered", ["number", "obligation"])
    assert row["before"][0] == {
        "ref": "Para 101",
        "path": ["Chapter 11", "Para 101"],
        "pages": [2],
        "text": f"101. {OLD_HOMES[0]}",
    }
    first = row["differences"][0]
    assert (first["before"], first["after"], first["flags"]) == ("should", "must", ["obligation"])


def test_a_section_is_shown_inline_with_its_changed_words(run: Run) -> None:
    ended = run("diff", "PLAN", "--section", "Para 102")
    assert ended.status == 0, ended.err
    assert "Para 101 → Para 102: renumbered, reworded, number!, obligation!" in ended.out
    assert "Councils [-should-] {+must+} plan for homes within [-10-] {+15+} minutes" in ended.out
    assert "Para 103" not in ended.out


def test_sides_are_shown_in_two_columns(run: Run) -> None:
    ended = run("diff", "PLAN", "--section", "Para 102", "--side-by-side")
    assert ended.status == 0, ended.err
    [line] = [line for line in ended.out.splitlines() if "[-should-]" in line]
    left, right = line.split("[-should-]")
    assert left.startswith("101. Councils")
    assert "102. Councils {+must+}" in right


def test_a_section_of_the_earlier_text_alone_is_shown(run: Run) -> None:
    ended = run("diff", "PLAN", NEW, OLD, "--section", "Chapter 11")
    assert "Para 103: added" in ended.out
    assert "Para 101: removed" in ended.out


class Page(HTMLParser):
    """Tags, texts and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_is_self_contained_and_escapes_texts(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    ended = run("diff", "PLAN", "--html", str(file))
    assert (ended.status, ended.out) == (0, f"Wrote {file}: 4 changed sections.\n")
    text = file.read_text(encoding="utf-8")
    page = Page(text)
    assert page.links == []
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert page.tags.count("article") == 4
    assert "Old <2023>" in page.texts
    assert "<del>should</del>" in text
    assert "<ins>must</ins>" in text
    assert not list(tmp_path.glob(".writing-*"))


def test_a_page_that_cannot_be_written_is_refused_and_nothing_is_left(
    run: Run, tmp_path: Path
) -> None:
    ended = run("diff", "PLAN", "--html", str(tmp_path / "none" / "page.html"))
    assert (ended.status, ended.out) == (WRONG_USE, "")
    assert "is not a folder" in ended.err
    folder = tmp_path / "folder.html"
    folder.mkdir()
    (folder / "kept").touch()
    ended = run("diff", "PLAN", "--html", str(folder))
    assert ended.status == WRONG_USE
    assert [one.name for one in folder.iterdir()] == ["kept"]
    assert not list(tmp_path.glob(".writing-*"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((OLD, OLD), "Both are rev_PLAN_2023_09"),
        (("2025-01-01",), "Both are rev_PLAN_2024_12"),
        (("rev_1",), "has no revision 'rev_1'. It has"),
        (("2018-01-01",), "(date_before_first_revision)"),
        (("2019-06-01",), f"{BARE} has that day, and its text is not ingested"),
        ((BARE,), "has no text. Ingest it"),
        (("12.3.2024",), "YYYY-MM-DD"),
        (("--section", "Para 999"), "no section 'Para 999'"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    run: Run, arguments: tuple[str, ...], words: str
) -> None:
    ended = run("diff", "PLAN", *arguments)
    assert (ended.status, ended.out) == (FAILED, ""), ended
    assert words in ended.err


def test_an_unknown_policy_is_refused(run: Run) -> None:
    ended = run("diff", "NOT_THERE")
    assert ended.status == FAILED
    assert "NOT_THERE" in ended.err


def test_one_text_is_not_enough(run: Run, home: Path) -> None:
    registry = open_registry(home / "policies.db")
    registry.update_revision("PLAN", OLD, RevisionUpdate(chunk_count=0))
    registry.close()
    ended = run("diff", "PLAN")
    assert ended.status == FAILED
    assert "A comparison needs two revisions with a text, and PLAN has 1" in ended.err


def test_a_draft_is_compared_with_the_text_in_force(run: Run, tmp_path: Path) -> None:
    assert run("undo", "PLAN", NEW, "--yes").status == 0
    file = str(plan(tmp_path / "draft.pdf", NEW_HOMES, ROADS))
    draft = ("--label", "Draft", "--from", "2025-01-01", "--file", file, "--draft")
    assert run("revise", "PLAN", *draft).status == 0
    found = data_of(run("diff", "PLAN", "--json"))
    assert (found["before"]["revision_id"], found["after"]["revision_id"]) == (
        OLD,
        "rev_PLAN_2025_01",
    )
    assert found["after"]["draft"] is True
    page = tmp_path / "page.html"
    assert run("diff", "PLAN", "--html", str(page)).status == 0
    assert "(rev_PLAN_2025_01, a draft, planned from 2025-01-01)" in page.read_text()


def test_kinds_without_sections_are_left_out_and_titles_are_whole(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    ended = run("diff", "PLAN", "--section", "Para 102")
    table, _, rest = ended.out.partition("└")
    assert "renumbered" in table
    assert "merged" not in table
    assert "Para 101 → Para 102: renumbered," in " ".join(rest.split())
    assert "…" not in rest


def test_dots_of_a_table_of_contents_are_shortened() -> None:
    text = "Contents\nHomes ........................ 7"
    row = Row(Change.ADDED, (), (SectionText("Contents", ("Contents",), (1,), text),))
    _, _, body, _ = format_rows(Comparison((row,)), side_by_side=False)
    assert str(body) == "{+Contents Homes … 7+}"


def test_the_timeline_shows_how_much_a_revision_changed(run: Run) -> None:
    ended = run("revisions", "PLAN")
    assert ended.status == 0, ended.err
    [line] = [line for line in ended.out.splitlines() if line.endswith("% changed")]
    assert line.startswith("New ")
    assert line.endswith("   6% changed")
