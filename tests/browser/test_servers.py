"""The MCP App with real servers: search, see the results, open the page with the passage marked."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from mcp.types import TextResourceContents
from playwright.sync_api import expect

from quinion.extract.pdf.mupdf import pymupdf
from quinion.model.policy import PolicyCategory, PolicyDraft
from quinion.servers.app.app import APP_URI
from quinion.store.policies import open_registry
from tests.browser.conftest import NewPage
from tests.browser.host import APPS, Answer, HostPage, dump
from tests.contract.conftest import NewHome
from tests.contract.doclibrary.asking import add
from tests.contract.doclibrary.documents import SURVEY, survey
from tests.contract.local import Shared, run_local
from tests.contract.policy_kb import policies
from tests.contract.policy_kb.asking import ingest_well, revise
from tests.contract.process import Home
from tests.contract.session import Session
from tests.documents import PROSE, Scan, Text, make_pdf

QUERY = "cycle parking near the entrance"
OTHER = "\n".join(f"Trees {number} to {number + 9} stand in the park." for number in range(8))
REFERENCE = "26/00001/FUL"
Fill = Callable[[Session, Home], None]


def fill_document_store(session: Session, home: Home) -> None:
    report = make_pdf(home.files / "Report.pdf", [Text(OTHER), Text(f"{PROSE}\n\n{OTHER}")])
    session.call("ingest_document", file_path=str(report), application_ref=REFERENCE)


def fill_document_store_with_a_scan(session: Session, home: Home) -> None:
    report = make_pdf(home.files / "Scan.pdf", [Scan(PROSE, cover=1)])
    session.call("ingest_document", file_path=str(report), application_ref=REFERENCE)


def fill_docvec(session: Session, home: Home) -> None:
    make_pdf(home.files / "Report.pdf", [Text(OTHER), Text(PROSE)])
    session.call("index_file", file_path=str(home.files / "Report.pdf"))


def fill_policies(session: Session, home: Home) -> None:
    registry = open_registry(home.path / "policies.db", None)
    registry.create_policy(PolicyDraft("NPPF", "Framework", PolicyCategory.NATIONAL_POLICY))
    revision = revise(registry, "NPPF", "December 2024", date(2024, 12, 12))
    registry.close()
    ingest_well(session, "NPPF", revision, policies.framework(home.files / "nppf.pdf", "2024"))


def fill_library(session: Session, home: Home) -> None:
    add(session, survey(home.files / "survey.pdf"))


@contextmanager
def show_search(
    new_page: NewPage, shared: Shared, home: Home, name: str, fill: Fill, tool: str, **asked: Any
) -> Iterator[HostPage]:
    """Fill a server, call a tool as the model does, and show its result in the app."""
    with ExitStack() as stack:
        server = stack.enter_context(run_local(shared, name, home))
        fill(stack.enter_context(server.session(command=True)), home)
        session = stack.enter_context(server.session(extensions=[APPS]))
        assert (session.tools[tool].meta or {})["ui"]["resourceUri"] == APP_URI
        [page] = session.do(session.client.read_resource, APP_URI).contents
        assert isinstance(page, TextResourceContents)
        host = HostPage(new_page(), lambda *call: ask(session, *call), page.text).open()
        yield host.show(ask(session, tool, asked), **asked)
        assert host.blocked == []
        assert host.errors == []


def ask(session: Session, tool: str, arguments: Answer) -> Answer:
    """Call a tool; return the result as a client receives it."""
    return dump(session.start(tool, **arguments).reply())


def open_first(host: HostPage) -> tuple[float, float, float, float]:
    """Open the first result; return the box around all marks."""
    host.app.locator("[data-hit='0']").click()
    return read_marks(host)


def read_marks(host: HostPage) -> tuple[float, float, float, float]:
    """Return the box around all marks, as fractions of the page."""
    expect(host.app.locator(".box").first).to_be_visible()
    around: list[float] = host.app.locator("#page").evaluate(
        """page => {
            const outer = page.getBoundingClientRect();
            const marks = [...page.querySelectorAll(".box")];
            const boxes = marks.map(mark => mark.getBoundingClientRect());
            return [
                (Math.min(...boxes.map(box => box.left)) - outer.left) / outer.width,
                (Math.min(...boxes.map(box => box.top)) - outer.top) / outer.height,
                (Math.max(...boxes.map(box => box.right)) - outer.left) / outer.width,
                (Math.max(...boxes.map(box => box.bottom)) - outer.top) / outer.height,
            ];
        }"""
    )
    left, top, right, bottom = around
    return left, top, right, bottom


def find_words(path: Path, number: int, first: str, last: str) -> list[float]:
    """The box around the text of a page from one phrase to another, as fractions."""
    with pymupdf.open(path) as document:
        page = document[number - 1]
        [start, *_], [end, *_] = page.search_for(first), page.search_for(last)
        top, bottom = start.y0 - 1, end.y1 + 1
        words = [word for word in page.get_text("words") if top < word[1] and word[3] < bottom]
        width, height = page.rect.width, page.rect.height
    return [
        min(word[0] for word in words) / width,
        min(word[1] for word in words) / height,
        max(word[2] for word in words) / width,
        max(word[3] for word in words) / height,
    ]


def test_a_passage_of_the_document_store_is_marked_on_both_its_pages(
    new_page: NewPage, shared: Shared, new_home: NewHome
) -> None:
    home = new_home()
    found = show_search(
        new_page,
        shared,
        home,
        "document-store",
        fill_document_store,
        "search_application_docs",
        query=QUERY,
    )
    with found as host:
        expect(host.app.locator(".place").first).to_have_text("Report.pdf · pages 1–2")
        host.app.locator("[data-hit='0']").click()
        lines = (host.app.locator("#passage").text_content() or "").strip().splitlines()
        marked = {1: read_marks(host)}
        host.app.get_by_role("button", name="Continues on page 2").click()
        expect(host.app.locator("#page-count")).to_have_text("Page 2 of 2")
        marked[2] = read_marks(host)
    pages = {1: (lines[0], OTHER.splitlines()[-1]), 2: (PROSE.splitlines()[0], lines[-1])}
    for number, ends in pages.items():
        expected = find_words(home.files / "Report.pdf", number, *ends)
        assert marked[number] == pytest.approx(expected, abs=0.01)


def test_a_passage_of_a_scan_is_marked(
    new_page: NewPage, shared: Shared, new_home: NewHome
) -> None:
    found = show_search(
        new_page,
        shared,
        new_home(),
        "document-store",
        fill_document_store_with_a_scan,
        "search_application_docs",
        query=QUERY,
        mode="hybrid",
    )
    with found as host:
        left, top, right, bottom = open_first(host)
        assert host.app.locator(".box").count() == len(PROSE.splitlines())
    assert 0 < left < 0.2
    assert 0.7 < right < 1
    assert 0 < top < bottom < 1


def test_a_passage_of_a_pdf_in_docvec_is_marked(
    new_page: NewPage, shared: Shared, new_home: NewHome
) -> None:
    home = new_home()
    found = show_search(new_page, shared, home, "docvec", fill_docvec, "search", query=QUERY)
    with found as host:
        marked = open_first(host)
        host.app.get_by_role("button", name="Previous page").click()
        expect(host.app.locator("#page-count")).to_have_text("Page 1 of 2")
        expect(host.app.locator(".box")).to_have_count(0)
    expected = find_words(home.files / "Report.pdf", 2, "The development", "concrete footing")
    assert marked == pytest.approx(expected, abs=0.01)


def test_a_section_of_a_policy_is_marked(
    new_page: NewPage, shared: Shared, new_home: NewHome
) -> None:
    home = new_home()
    found = show_search(
        new_page,
        shared,
        home,
        "policy-kb",
        fill_policies,
        "get_policy_section",
        source="NPPF",
        section_ref="Para 105",
    )
    with found as host:
        expect(host.app.locator("#heading")).to_have_text("Para 105")
        marked = open_first(host)
        page = int((host.app.locator("#page-count").text_content() or "").split()[1])
        lines = (host.app.locator("#passage").text_content() or "").strip().splitlines()
    expected = find_words(home.files / "nppf.pdf", page, lines[0], lines[-1])
    assert marked == pytest.approx(expected, abs=0.01)


def test_a_figure_of_the_library_is_in_the_gallery_and_framed(
    new_page: NewPage, shared: Shared, new_home: NewHome
) -> None:
    found = show_search(
        new_page,
        shared,
        new_home(),
        "doclibrary",
        fill_library,
        "search_visual_elements",
        query="plan of the nine streets",
    )
    with found as host:
        expect(host.app.locator(".place").first).to_have_text(f"{SURVEY} · page 1")
        host.app.locator(".gallery canvas").first.wait_for()
        open_first(host)
        expect(host.app.locator("#document")).to_have_text("Figure 8-1")
        expect(host.app.locator(".box.frame")).to_have_count(1)
