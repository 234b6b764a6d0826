"""The console in a browser, as a person uses it, on generated documents."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import find_chromium, find_violations
from tests.browser.conftest import NewPage
from tests.browser.console.running import Running, run_command, serve
from tests.contract.conftest import NewHome
from tests.contract.doclibrary.documents import survey
from tests.contract.policy_kb.policies import framework
from tests.documents import PROSE, Scan, make_pdf, text_pdf

REF = "26/00001/FUL"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
FIRST_VIEW_BYTES = 100_000
READING_MS = 60_000


@pytest.fixture(scope="module")
def running(new_home: NewHome) -> Iterator[Running]:
    """An engine with documents, two revisions of a policy, a library document and a folder."""
    find_chromium()
    home = new_home()
    letter = text_pdf(home.files / "Letter.pdf", PROSE, "A second page about hedges and yards.")
    notes = home.files / "notes"
    notes.mkdir()
    (notes / "meeting.md").write_text("# Meeting\n\nWe decided to keep the hedges.\n")
    revisions = [
        f"NPPF@{day}={framework(home.files / f'{year}.pdf', year)}"
        for year, day in (("2023", "2023-09-05"), ("2024", "2024-12-12"))
    ]
    for command in (
        ["ingest", str(letter), "-a", REF],
        ["policy", "seed", *revisions],
        ["library", "add", str(survey(home.files / "survey.pdf"))],
        ["index", str(notes)],
    ):
        run_command(home, *command)
    with serve(home) as running:
        yield running


@pytest.fixture
def page(running: Running, new_page: NewPage) -> Page:
    """A page of a browser that has opened the console."""
    return enter(running, new_page(viewport=DESK))


def go_to(page: Page, part: str) -> None:
    page.get_by_label("Parts of the console").get_by_role("link", name=part).click()


def enter(running: Running, page: Page) -> Page:
    page.goto(running.key())
    page.wait_for_url(f"{running.address}/")
    return page


def test_from_the_first_search_to_the_passage_by_keyboard(running: Running, page: Page) -> None:
    page.keyboard.type("covered cycle parking")  # the box has the focus
    page.keyboard.press("Enter")
    expect(page.locator(".hit").first).to_have_attribute("aria-current", "true")
    expect(page.locator("#here mark").first).to_be_visible()
    page.locator("h1").evaluate("() => document.activeElement.blur()")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("cycle spaces hedges")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("hedges"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hit").nth(1)).to_have_attribute("aria-current", "true")
    expect(page).to_have_url(re.compile("hit=2"))
    title = page.locator(".hit").nth(1).locator("strong").inner_text()
    expect(page.locator("#passage h2")).to_have_text(title)
    shared = page.url
    page.goto(shared)
    expect(page.locator(".hit").nth(1)).to_have_attribute("aria-current", "true")
    page.locator(".hit").nth(1).press("Enter")
    expect(page).to_have_url(re.compile("/(documents|policies|library|folders)"))


def test_a_scan_is_dropped_watched_and_deleted(running: Running, page: Page) -> None:
    scan = make_pdf(running.home.files / "scan.pdf", [Scan(PROSE, 0.5) for _ in range(2)])
    page.goto(f"{running.address}/documents")
    page.locator("#upload [name=application]").fill("26/00002/FUL")
    page.locator("#upload input[type=file]").set_input_files(scan)
    expect(page.locator(".job.done .name")).to_have_text("scan.pdf", timeout=READING_MS)
    expect(page.locator(".job.done .message").first).to_contain_text("OCR")
    page.reload()
    expect(page.locator(".job.done .name")).to_have_text("scan.pdf")
    page.locator("table.list a", has_text="scan").first.click()
    expect(page.locator(".pagetext")).to_contain_text("two hundred covered cycle parking")
    page.get_by_role("button", name="Delete…").click()
    expect(page.get_by_role("dialog")).to_contain_text("The uploaded file is deleted as well")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page).to_have_url(f"{running.address}/documents")
    expect(page.locator("table.list a", has_text="scan")).to_have_count(0)


def test_an_ingest_is_cancelled_and_a_wrong_file_explained(running: Running, page: Page) -> None:
    scan = make_pdf(running.home.files / "long.pdf", [Scan(PROSE, 0.5) for _ in range(30)])
    wrong = running.home.files / "program.exe"
    wrong.write_bytes(b"MZ")
    page.goto(f"{running.address}/documents")
    page.locator("#upload [name=application]").fill("26/00003/FUL")
    page.locator("#upload input[type=file]").set_input_files([wrong, scan])
    expect(page.locator("#sending .job.failed .message")).to_contain_text("cannot be ingested")
    page.locator("#jobs").get_by_role("button", name="Cancel").first.click()
    expect(page.locator("#jobs .job.cancelled .message")).to_contain_text("Nothing was stored")
    expect(page.locator("table.list a", has_text="long")).to_have_count(0)


def test_two_revisions_are_compared(running: Running, page: Page) -> None:
    go_to(page, "Policies")
    page.get_by_role("link", name="What changed").click()
    expect(page.locator("article.change").first.locator("del, ins").first).to_be_visible()
    page.goto(f"{running.address}/policies/NPPF")
    page.locator("input[name=date]").fill("2024-01-15")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("h2.revision")).to_contain_text("2023-09-05")
    page.locator(".sections a").nth(3).click()
    expect(page.locator("#section .pagetext")).not_to_be_empty()


def test_a_figure_is_looked_at(running: Running, page: Page) -> None:
    go_to(page, "Library")
    page.locator("table.list a").first.click()
    picture = page.locator("figure img").first
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 10
    page.locator("figure .frame").first.click()
    whole = page.locator("img.whole")
    assert whole.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100


def test_people_log_in_with_a_token(new_home: NewHome, new_page: NewPage) -> None:
    with serve(new_home(), MCP_API_KEY="a-token") as guarded:
        page = new_page()
        page.goto(f"{guarded.address}/documents")
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_have_text("That is not the token.")
        assert find_violations(page) == []
        page.get_by_label("Token").fill("a-token")
        page.get_by_role("button", name="Log in").click()
        expect(page).to_have_url(f"{guarded.address}/documents")
        [cookie] = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")


def test_a_page_comes_back_when_the_engine_does(new_home: NewHome, new_page: NewPage) -> None:
    home = new_home()
    with serve(home) as first:
        page = new_page()
        page.clock.install()
        enter(first, page)
    page.clock.run_for(31_000)
    expect(page.locator("#lost")).to_be_visible()
    with serve(home, first.port):
        page.clock.run_for(2_000)
        expect(page.locator("#lost")).to_be_hidden()
        expect(page.locator("#search")).to_be_visible()


def test_a_page_whose_session_expires_asks_for_a_key(running: Running, new_page: NewPage) -> None:
    page = new_page()
    page.clock.install()
    enter(running, page)
    page.context.clear_cookies()
    page.clock.run_for(31_000)
    expect(page.get_by_role("heading", name="This console is locked")).to_be_visible()


def test_a_folder_is_watched_and_its_vanished_file_removed(running: Running, page: Page) -> None:
    folder = running.home.files / "watched"
    folder.mkdir()
    (folder / "one.md").write_text("# One\n\nFirst.\n")
    go_to(page, "Folders")
    page.get_by_label("Folder on the machine").fill(str(folder))
    page.get_by_role("button", name="Index and watch").click()
    expect(page.locator(".watched .name")).to_have_text(str(folder))
    done = page.locator("#jobs .job.done", has_text=str(folder))
    expect(done).to_be_visible(timeout=READING_MS)
    page.get_by_role("button", name="Stop watching").click()
    expect(page.locator(".watched")).to_have_count(0)
    (folder / "one.md").unlink()
    page.get_by_role("button", name="Find vanished files…").click()
    expect(page.get_by_role("dialog")).to_contain_text("one.md")
    page.get_by_role("button", name="Remove it from the index").click()
    expect(page.locator("table.list")).not_to_contain_text("one.md")


def test_chunks_are_drawn_on_the_page_and_pages_are_thumbnails(
    running: Running, page: Page
) -> None:
    go_to(page, "Documents")
    page.get_by_role("link", name="Letter").first.click()
    expect(page.locator(".pages a")).to_have_count(2)
    thumbnail = page.locator(".thumb img").first
    assert thumbnail.evaluate("image => image.decode().then(() => image.naturalWidth)") > 50
    expect(page.locator(".chunk rect").first).to_be_visible()
    page.locator(".chunks li").first.hover()
    expect(page.locator(".chunk.lit")).to_have_count(1)
    page.get_by_role("link", name="Next").click()
    expect(page.locator(".pagetext")).to_contain_text("hedges and yards")


VIEWS = [
    *("/", "/?q=hedges", "/?q=hedges&kind=policies&date=2024-01-01", "/documents", "/policies"),
    *("/policies/NPPF?section=Chapter+11", "/policies/NPPF/compare", "/library", "/folders"),
    *("/engine", "/nowhere"),
]


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_has_an_accessibility_violation(
    running: Running, new_page: NewPage, viewport: dict[str, int], scheme: str
) -> None:
    page = enter(running, new_page(viewport=viewport, color_scheme=scheme))
    page.goto(f"{running.address}/documents")
    document = page.locator("table.list a").first.get_attribute("href")
    page.goto(f"{running.address}/library")
    gallery = page.locator("table.list a").first.get_attribute("href")
    for path in (*VIEWS, document, gallery, f"{gallery}/page/1"):
        page.goto(f"{running.address}{path}")
        assert find_violations(page) == [], path
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= viewport["width"], path


def test_the_first_view_is_small_and_all_its_requests_are_our_own(
    running: Running, new_page: NewPage
) -> None:
    page = new_page(viewport=DESK)
    sizes: dict[str, int] = {}
    refused: list[Any] = []
    page.on("response", lambda answer: sizes.update({answer.url: len(answer.body())}))
    page.on("console", lambda message: refused.append(message.text))
    enter(running, page)
    page.goto(f"{running.address}/?q=hedges")
    page.wait_for_load_state("networkidle")
    assert all(url.startswith(running.address) for url in sizes)
    assert refused == []
    first = {url: size for url, size in sizes.items() if not url.endswith(".png")}
    assert sum(first.values()) < 2 * FIRST_VIEW_BYTES  # two views, and the files of both once
    files = sum(size for url, size in first.items() if "/static/" in url)
    [view] = [size for url, size in first.items() if "q=hedges" in url]
    assert files + view < FIRST_VIEW_BYTES


def test_everything_can_be_read_without_scripts(running: Running, new_page: NewPage) -> None:
    page = enter(running, new_page(java_script_enabled=False))
    page.get_by_role("searchbox").fill("hedges")
    page.get_by_role("button", name="Search").click()
    page.locator(".hit").nth(1).click()
    expect(page.locator(".hit").nth(1)).to_have_attribute("aria-current", "true")
    for name in ("Documents", "Policies", "Library", "Folders", "Health"):
        go_to(page, name)
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
