"""The page with the passage marked, in the MCP App."""

from collections.abc import Iterator
from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import ViewportSize, expect

from tests.browser.canned import BOXES, PAGE_COUNT, Box, as_result, chunk, figure, found, show_page
from tests.browser.conftest import NewPage
from tests.browser.host import Answer, CallTool, HostPage

TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
FIGURE = (0.2, 0.2, 0.6, 0.4)
WIDE: ViewportSize = {"width": 900, "height": 1000}
NARROW: ViewportSize = {"width": 390, "height": 844}


def open_page(
    new_page: NewPage, call_tool: CallTool = lambda _, args: show_page(args), **context: object
) -> HostPage:
    """Open the page of the second of three results."""
    host = HostPage(new_page(viewport=WIDE), call_tool).open(**context)
    host.show(found(chunk(1), chunk(2), chunk(3)))
    host.app.locator("[data-hit='1']").click()
    expect(host.app.locator("#page, #notes .bad").first).to_be_visible()
    return host


def find_marked(host: HostPage) -> list[Box]:
    """Find the marks in a picture of the page: the boxes around each run of coloured rows."""
    host.page.set_viewport_size({"width": 2200, "height": 3400})
    host.app.locator("#viewer").evaluate("viewer => viewer.style.height = '3200px'")
    expect(host.page.locator("iframe")).to_have_js_property("offsetHeight", 3200)
    host.page.frames[-1].evaluate(TWO_FRAMES)
    picture = Image.open(BytesIO(host.app.locator("#page").screenshot())).convert("RGB")
    width, height = picture.size
    # White stays white without a mark and black stays black, so only marks are coloured.
    coloured = [
        [x for x in range(width) if _is_coloured(picture.getpixel((x, y)))] for y in range(height)
    ]
    return [
        (
            min(coloured[top]) / width,
            top / height,
            (max(coloured[top]) + 1) / width,
            bottom / height,
        )
        for top, bottom in _find_runs([len(row) > 3 for row in coloured])
    ]


def _is_coloured(pixel: object) -> bool:
    assert isinstance(pixel, tuple)
    return int(max(pixel)) - int(min(pixel)) > 40


def _find_runs(rows: list[bool]) -> Iterator[tuple[int, int]]:
    start = None
    for number, is_marked in enumerate([*rows, False]):
        if is_marked and start is None:
            start = number
        elif not is_marked and start is not None:
            yield start, number
            start = None


@pytest.mark.parametrize("zoom", ["Fit", "100 %", "200 %"])
def test_the_passage_is_marked_at_its_boxes_and_nowhere_else(new_page: NewPage, zoom: str) -> None:
    boxes: list[Box] = [(0.1, 0.04, 0.9, 0.06), (0.1, 0.07, 0.35, 0.09), (0.6, 0.92, 0.7, 0.94)]
    host = open_page(new_page, lambda _, args: show_page(args, boxes))
    host.app.get_by_role("button", name=zoom, exact=True).click()
    marked = find_marked(host)
    assert len(marked) == len(boxes)
    for one, box in zip(marked, boxes, strict=True):
        assert one == pytest.approx(box, abs=0.003)


def test_text_under_a_mark_stays_black(new_page: NewPage) -> None:
    host = open_page(new_page)
    picture = Image.open(BytesIO(host.app.locator("#desk").screenshot())).convert("RGB")
    box = host.app.locator(".box").first.bounding_box()
    desk = host.app.locator("#desk").bounding_box()
    assert box
    assert desk
    left, top = int(box["x"] - desk["x"]), int(box["y"] - desk["y"])
    right, bottom = left + int(box["width"]), top + int(box["height"])
    inside = picture.crop((left + 2, top, right - 2, bottom)).convert("L")
    darkest, _ = inside.getextrema()
    assert isinstance(darkest, int)
    assert darkest < 20


def test_the_passage_is_scrolled_into_view(new_page: NewPage) -> None:
    host = open_page(new_page)
    for zoom, hit in (("Fit", "#next-hit"), ("200 %", "#previous-hit")):
        host.app.get_by_role("button", name=zoom, exact=True).click()
        host.app.locator(hit).click()
        expect(host.app.locator("#desk")).to_have_attribute("aria-busy", "false")
        expect(host.app.locator(".box").first).to_be_in_viewport()


def test_pages_turn_and_lead_back_to_the_passage(new_page: NewPage) -> None:
    host = open_page(new_page)
    count = host.app.locator("#page-count")
    expect(count).to_have_text("Page 3 of 5")
    expect(host.app.locator("#passage-page")).to_be_hidden()
    host.app.get_by_role("button", name="Next page").click()
    expect(count).to_have_text("Page 4 of 5")
    expect(host.app.locator(".box")).to_have_count(0)
    expect(host.app.locator("#image")).to_have_attribute("alt", "Page 4 of Report")
    host.app.get_by_role("button", name="To the passage").click()
    expect(count).to_have_text("Page 3 of 5")
    expect(host.app.locator(".box")).to_have_count(len(BOXES))
    assert [arguments.get("page") for _, arguments in host.calls] == [None, 4, 3]


def test_the_first_and_the_last_page_are_the_ends(new_page: NewPage) -> None:
    host = open_page(new_page)
    for name, turned in (("Next page", [4, PAGE_COUNT]), ("Previous page", [4, 3, 2, 1])):
        button = host.app.get_by_role("button", name=name)
        for page in turned:
            button.click()
            expect(host.app.locator("#page-count")).to_have_text(f"Page {page} of 5")
        expect(button).to_have_attribute("aria-disabled", "true")


def test_the_next_and_the_previous_result_are_shown(new_page: NewPage) -> None:
    host = open_page(new_page)
    shown = host.app.locator("#document")
    expect(shown).to_have_text("Report 2")
    expect(host.app.locator("#hit-count")).to_have_text("2 / 3")
    host.app.get_by_role("button", name="Next result").click()
    expect(shown).to_have_text("Report 3")
    expect(host.app.locator("#next-hit")).to_have_attribute("aria-disabled", "true")
    host.app.get_by_role("button", name="Previous result").click()
    expect(shown).to_have_text("Report 2")
    assert [arguments["chunk_id"] for _, arguments in host.calls] == ["chunk_2", "chunk_3"]


def test_a_passage_over_a_page_break_leads_to_its_other_page(new_page: NewPage) -> None:
    def show(_: str, arguments: Answer) -> Answer:
        result = show_page(arguments)
        regions = [{"page": 3, "boxes": BOXES}, {"page": 4, "boxes": BOXES[:1]}]
        result["structuredContent"]["regions"] = regions
        return result

    host = open_page(new_page, show)
    host.app.get_by_role("button", name="Continues on page 4").click()
    expect(host.app.locator("#page-count")).to_have_text("Page 4 of 5")
    expect(host.app.locator(".box")).to_have_count(1)


def test_a_merged_result_is_marked_whole(new_page: NewPage) -> None:
    merged = chunk(1, merged={"chunk_ids": ["chunk_1", "chunk_2"], "page_numbers": [3, 4]})
    merged["evidence"]["regions"] = [{"page": 3, "boxes": BOXES}, {"page": 4, "boxes": BOXES[:1]}]
    host = HostPage(new_page(viewport=WIDE), lambda _, args: show_page(args, BOXES[:2])).open()
    host.show(found(merged))
    expect(host.app.locator(".place")).to_have_text("Report_1.pdf · pages 3–4")
    host.app.locator(".title").click()
    expect(host.app.locator(".box")).to_have_count(len(BOXES))
    host.app.get_by_role("button", name="Continues on page 4").click()
    expect(host.app.locator(".box")).to_have_count(1)


def test_nothing_of_a_merged_result_is_marked_once_its_place_is_unknown(new_page: NewPage) -> None:
    merged = chunk(1, merged={"chunk_ids": ["chunk_1", "chunk_2"]})
    host = HostPage(new_page(), lambda _, args: show_page(args, [], "The file changed.")).open()
    host.show(found(merged))
    host.app.locator(".title").click()
    expect(host.app.locator("#notes")).to_have_text("The file changed.")
    expect(host.app.locator(".box")).to_have_count(0)


def test_marks_that_overlap_are_no_darker(new_page: NewPage) -> None:
    boxes: list[Box] = [(0.1, 0.03, 0.9, 0.06), (0.1, 0.05, 0.9, 0.08)]
    host = open_page(new_page, lambda _, args: show_page(args, boxes))
    picture = Image.open(BytesIO(host.app.locator("#page").screenshot())).convert("RGB")
    x = picture.width // 2
    once, twice = (picture.getpixel((x, int(y * picture.height))) for y in (0.04, 0.055))
    assert once == twice


def test_a_figure_is_framed(new_page: NewPage) -> None:
    host = HostPage(new_page(viewport=WIDE), lambda _, args: show_page(args, [FIGURE])).open()
    host.show(found(figure(1, FIGURE)))
    host.app.locator(".title").click()
    frame = host.app.locator(".box.frame")
    expect(frame).to_have_count(1)
    page = host.app.locator("#page").bounding_box()
    box = frame.bounding_box()
    assert page
    assert box
    assert (box["x"] - page["x"]) / page["width"] == pytest.approx(FIGURE[0], abs=0.002)
    assert box["height"] / page["height"] == pytest.approx(FIGURE[3] - FIGURE[1], abs=0.002)


def test_a_place_that_is_unknown_is_explained_and_nothing_is_marked(new_page: NewPage) -> None:
    note = "The file has changed since it was read."
    host = open_page(new_page, lambda _, args: show_page(args, [], note))
    expect(host.app.locator("#notes")).to_have_text(note)
    expect(host.app.locator(".box")).to_have_count(0)
    expect(host.app.locator("#image")).to_be_visible()
    expect(host.app.locator("#live")).to_have_text(f"Page 3 of 5, {note}")


def test_hidden_text_is_pointed_out(new_page: NewPage) -> None:
    host = open_page(new_page, lambda _, args: show_page(args, hidden=True))
    expect(host.app.locator("#notes")).to_contain_text("Words of this passage cannot be seen")
    host.app.get_by_role("button", name="Next page").click()
    expect(host.app.locator("#page-count")).to_have_text("Page 4 of 5")
    expect(host.app.locator("#notes")).to_be_empty()


def test_a_passage_that_cannot_be_seen_at_all_is_not_marked(new_page: NewPage) -> None:
    host = open_page(new_page, lambda _, args: show_page(args, [], hidden=True))
    expect(host.app.locator(".box")).to_have_count(0)
    expect(host.app.locator("#live")).to_contain_text("Words of this passage cannot be seen")


def test_a_page_that_fails_says_why_and_can_be_tried_again(new_page: NewPage) -> None:
    answers = iter([as_result({"status": "error", "message": "The original is gone."})])
    host = open_page(new_page, lambda _, args: next(answers, show_page(args)))
    expect(host.app.locator("#notes .bad")).to_contain_text("The original is gone.")
    expect(host.app.locator("#page")).to_be_hidden()
    host.app.get_by_role("button", name="Try again").click()
    expect(host.app.locator(".box")).to_have_count(len(BOXES))
    expect(host.app.locator("#notes")).to_be_empty()


@pytest.mark.parametrize(
    "content",
    [
        [],
        [{"type": "image", "data": "PHN2Zy8+", "mimeType": "image/svg+xml"}],
        [{"type": "image", "data": "AAAA", "mimeType": "image/png"}],
    ],
    ids=["none", "svg", "damaged"],
)
def test_an_answer_without_a_usable_image_is_an_error(
    new_page: NewPage, content: list[Answer]
) -> None:
    host = open_page(new_page, lambda *_: {"content": content, "structuredContent": {"page": 3}})
    expect(host.app.locator("#notes .bad")).to_contain_text("The page cannot be shown.")


def test_a_page_that_comes_late_does_not_replace_the_next_one(new_page: NewPage) -> None:
    host = open_page(new_page)
    host.page.evaluate(
        """() => {
            const call = window.callTool;
            window.held = [];
            window.callTool = params => new Promise(resolve =>
                held.push(() => call(params).then(resolve)));
        }"""
    )
    host.app.get_by_role("button", name="Next result").click()
    host.app.get_by_role("button", name="Previous page").click()
    host.page.wait_for_function("held.length === 2")
    host.page.evaluate("held[1]()")
    expect(host.app.locator("#page-count")).to_have_text("Page 2 of 5")
    host.page.evaluate("held[0]()")
    host.page.evaluate("host.bridge.sendHostContextChange({theme: 'dark'})")
    expect(host.app.locator("html")).to_have_attribute("data-theme", "dark")
    expect(host.app.locator("#page-count")).to_have_text("Page 2 of 5")
    expect(host.app.locator(".box")).to_have_count(0)


def test_the_wheel_zooms_at_the_pointer(new_page: NewPage) -> None:
    host = open_page(new_page)
    before = host.app.locator(".box").first.bounding_box()
    assert before
    host.page.mouse.move(before["x"], before["y"])
    host.page.keyboard.down("Control")
    host.page.mouse.wheel(0, -100)
    host.page.keyboard.up("Control")
    expect(host.app.locator("#zoom-fit")).to_have_attribute("aria-pressed", "false")
    after = host.app.locator(".box").first.bounding_box()
    assert after
    assert after["width"] > before["width"] * 1.2
    assert (after["x"], after["y"]) == pytest.approx((before["x"], before["y"]), abs=3)


def test_two_fingers_zoom(new_page: NewPage) -> None:
    host = open_page(new_page)
    width = host.app.locator("#page").evaluate("page => page.offsetWidth")
    host.app.locator("#desk").evaluate(
        """desk => {
            const send = (name, pointerId, clientX) => desk.dispatchEvent(new PointerEvent(name,
                {pointerId, clientX, clientY: 300, pointerType: "touch", bubbles: true}));
            send("pointerdown", 1, 300); send("pointerdown", 2, 400);
            send("pointermove", 2, 500); send("pointerup", 1, 300); send("pointerup", 2, 500);
        }"""
    )
    wider = host.app.locator("#page").evaluate("page => page.offsetWidth")
    assert wider == pytest.approx(width * 2, rel=0.01)


def test_a_narrow_frame_shows_the_whole_width_of_the_page(new_page: NewPage) -> None:
    host = open_page(new_page)
    host.page.set_viewport_size(NARROW)
    page = host.app.locator("#page")
    expect(page).to_have_js_property("offsetWidth", NARROW["width"] - 16)
    for button in host.app.locator("#viewer button:visible").all():
        box = button.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= NARROW["width"]


def test_the_text_of_the_passage_can_be_read_and_copied(new_page: NewPage) -> None:
    host = open_page(new_page)
    host.app.get_by_text("Text of the passage").click()
    expect(host.app.locator("#passage")).to_contain_text("They are lit.")
