"""The MCP App for everybody: keyboard, screen reader, themes, sizes; and what it may not reach."""

from typing import Any

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.browser.canned import chunk, figure, found, show_page
from tests.browser.conftest import NewPage
from tests.browser.host import APP, HOST, HostPage

SIZES: list[ViewportSize] = [{"width": 390, "height": 844}, {"width": 1280, "height": 900}]
RESULTS = found(
    chunk(1), figure(1, (0.1, 0.1, 0.5, 0.5)), chunk(2, hidden_text=True), warning="Unknown type."
)


def open_app(new_page: NewPage, **context: Any) -> HostPage:
    return HostPage(new_page(), lambda _, args: show_page(args)).open(**context)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size['width']}px")
def test_axe_finds_nothing_in_the_list_and_the_page(
    new_page: NewPage, theme: str, size: ViewportSize
) -> None:
    page = new_page(viewport=size, color_scheme="light")
    host = HostPage(page, lambda _, args: show_page(args, note="The place is unknown."))
    host.open(theme=theme, availableDisplayModes=["inline", "fullscreen"])
    assert host.find_violations() == []
    host.show(RESULTS)
    host.app.locator(".gallery canvas").wait_for()
    assert host.find_violations() == []
    host.app.locator("[data-hit='0']").click()
    expect(host.app.locator("#page")).to_be_visible()
    host.app.get_by_text("Text of the passage").click()
    assert host.find_violations() == []
    host.show(found())
    assert host.find_violations() == []


def test_everything_works_with_the_keyboard_alone(new_page: NewPage) -> None:
    host = open_app(new_page)
    host.show(found(*map(chunk, range(7))))
    app, press = host.app, host.page.keyboard.press
    expect(app.locator("#heading")).to_contain_text("7 passages")
    press("Tab")
    expect(app.locator("[data-hit='0']")).to_be_focused()
    press("ArrowDown")
    press("ArrowDown")
    press("ArrowUp")
    expect(app.locator("[data-hit='1']")).to_be_focused()
    press("End")
    expect(app.locator("#more")).to_be_focused()
    press("Home")
    press("ArrowDown")
    press("Enter")
    expect(app.locator("#desk")).to_be_focused()
    expect(app.locator("#page-count")).to_have_text("Page 3 of 5")
    press("ArrowRight")
    expect(app.locator("#page-count")).to_have_text("Page 4 of 5")
    press("ArrowLeft")
    press("n")
    expect(app.locator("#hit-count")).to_have_text("3 / 7")
    press("2")
    expect(app.locator("#zoom-2")).to_have_attribute("aria-pressed", "true")
    press("-")
    expect(app.locator("#live")).to_have_text("Zoom 150 %")
    press("+")
    press("0")
    expect(app.locator("#zoom-fit")).to_have_attribute("aria-pressed", "true")
    for key in ("n", "n", "n", "n", "n"):
        press(key)
    expect(app.locator("#hit-count")).to_have_text("7 / 7")
    press("Escape")
    expect(app.locator("#viewer")).to_be_hidden()
    expect(app.locator("[data-hit='6']")).to_be_focused()


def test_focus_never_leaves_by_a_button_that_became_useless(new_page: NewPage) -> None:
    host = open_app(new_page).show(found(chunk(1), chunk(2)))
    host.app.locator("[data-hit='0']").click()
    button = host.app.locator("#next-hit")
    button.focus()
    host.page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_be_focused()
    host.page.keyboard.press("Enter")
    expect(host.app.locator("#hit-count")).to_have_text("2 / 2")


def test_arrows_scroll_a_page_that_is_wider_than_the_frame(new_page: NewPage) -> None:
    host = open_app(new_page).show(found(chunk(1)))
    host.app.locator("[data-hit='0']").click()
    expect(host.app.locator("#page")).to_be_visible()
    host.page.keyboard.press("2")
    host.page.keyboard.press("ArrowRight")
    expect(host.app.locator("#desk")).not_to_have_js_property("scrollLeft", 0)
    assert len(host.calls) == 1


def test_a_screen_reader_hears_what_happens(new_page: NewPage) -> None:
    host = open_app(new_page).show(found(chunk(1), warning="Unknown type."))
    heard = host.app.get_by_role("status")
    expect(heard).to_contain_text("1 passage for")
    expect(heard).to_contain_text("Unknown type.")
    host.app.get_by_role("button", name="Report 1: show the passage on page 3").click()
    expect(heard).to_have_text("Page 3 of 5, the passage is marked")
    expect(host.app.get_by_role("img", name="Page 3 of Report")).to_be_visible()
    host.page.keyboard.press("ArrowRight")
    expect(heard).to_have_text("Page 4 of 5, the passage is not on this page")


def test_the_theme_is_the_hosts_and_follows_it(new_page: NewPage) -> None:
    host = open_app(new_page, theme="dark", styles={"variables": {"--color-text-primary": "red"}})
    host.show(found(chunk(1)))
    colours = "body => [getComputedStyle(body).backgroundColor, getComputedStyle(body).color]"
    assert host.app.locator("body").evaluate(colours) == ["rgb(30, 30, 29)", "rgb(255, 0, 0)"]
    host.send("sendHostContextChange", {"theme": "light"})
    expect(host.app.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")


def test_without_a_theme_the_browsers_is_used(new_page: NewPage) -> None:
    host = HostPage(new_page(color_scheme="dark"), lambda _, args: show_page(args)).open()
    expect(host.app.locator("body")).to_have_css("background-color", "rgb(30, 30, 29)")


def test_the_frame_grows_with_the_results_and_the_page_fits_it(new_page: NewPage) -> None:
    host = open_app(new_page).show(found(chunk(1)))
    small = _height_of(host)
    host.show(found(*map(chunk, range(5))))
    host.page.wait_for_function(f"host.sizes.at(-1) > {small * 2}")
    host.app.locator("[data-hit='0']").click()
    host.page.wait_for_function("host.sizes.at(-1) === 720")


def test_a_frame_that_may_not_grow_scrolls(new_page: NewPage) -> None:
    host = open_app(new_page, containerDimensions={"maxHeight": 300})
    host.show(found(*map(chunk, range(5))))
    host.page.wait_for_function("host.sizes.at(-1) === 300")
    assert host.app.locator("#list").evaluate("list => list.scrollHeight > list.clientHeight")
    host.app.locator("[data-hit='0']").click()
    expect(host.app.locator("#page")).to_be_visible()
    host.app.locator("#back").click()
    assert host.page.evaluate("host.sizes.at(-1)") == 300


def test_full_screen_fills_the_window(new_page: NewPage) -> None:
    host = open_app(new_page, availableDisplayModes=["inline", "fullscreen"])
    host.show(found(chunk(1)))
    host.app.locator("[data-hit='0']").click()
    host.app.get_by_role("button", name="Full screen").click()
    expect(host.app.locator("#full")).to_have_attribute("aria-pressed", "true")
    height = host.page.viewport_size
    assert height
    expect(host.app.locator("#viewer")).to_have_js_property("offsetHeight", height["height"])


def test_full_screen_is_not_offered_where_the_host_has_none(new_page: NewPage) -> None:
    host = open_app(new_page).show(found(chunk(1)))
    host.app.locator("[data-hit='0']").click()
    expect(host.app.locator("#full")).to_be_hidden()


def test_the_app_requests_nothing_but_itself(new_page: NewPage) -> None:
    page = new_page()
    requested: list[str] = []
    page.context.on("request", lambda request: requested.append(request.url))
    host = HostPage(page, lambda _, args: show_page(args)).open()
    host.show(RESULTS)
    host.app.locator(".gallery canvas").wait_for()
    host.app.locator("[data-hit='0']").click()
    expect(host.app.locator("#page")).to_be_visible()
    of_app = [url for url in requested if not url.startswith(HOST) and not url.startswith("data:")]
    assert of_app == [APP]
    assert host.blocked == []


def test_the_policy_of_the_page_itself_allows_no_request(new_page: NewPage) -> None:
    host = open_app(new_page).show(found(chunk(1)))
    refused = host.page.frames[-1].evaluate(
        """async () => {
            const names = [];
            addEventListener("securitypolicyviolation", event => names.push(event.originalPolicy));
            await fetch("http://outside.test/").catch(() => {});
            const image = new Image();
            image.src = "http://outside.test/x.png";
            await new Promise(done => { image.onerror = done; });
            return names.filter(policy => policy.includes("trusted-types")).length;
        }"""
    )
    assert refused == 2
    assert host.blocked == []


def test_messages_from_elsewhere_than_the_host_are_ignored(new_page: NewPage) -> None:
    host = open_app(new_page).show(found(chunk(1)))
    expect(host.app.locator("#heading")).to_contain_text("1 passage")
    host.page.frames[-1].evaluate(
        """() => {
            const params = {reason: "forged"};
            postMessage({jsonrpc: "2.0", method: "ui/notifications/tool-cancelled", params}, "*");
        }"""
    )
    host.send("sendHostContextChange", {"theme": "dark"})
    expect(host.app.locator("html")).to_have_attribute("data-theme", "dark")
    expect(host.app.locator("#heading")).to_contain_text("1 passage")


def test_the_bridge_accepts_every_message_and_ends_the_app(new_page: NewPage) -> None:
    host = open_app(new_page, availableDisplayModes=["inline", "fullscreen"])
    host.show(found(chunk(1)))
    host.app.locator("[data-hit='0']").click()
    expect(host.app.locator("#page")).to_be_visible()
    assert host.page.evaluate("host.bridge.teardownResource({})") == {}
    assert host.errors == []


def test_without_a_client_the_page_says_what_it_is_for(new_page: NewPage) -> None:
    host = open_app(new_page)
    host.page.goto(APP)
    expect(host.page.locator(".message")).to_contain_text("An MCP client")


def _height_of(host: HostPage) -> int:
    expect(host.app.locator(".card").first).to_be_visible()
    host.page.wait_for_function("host.sizes.length")
    height: int = host.page.evaluate("host.sizes.at(-1)")
    return height
