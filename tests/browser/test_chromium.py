"""The browser of the tests works, and its accessibility check finds what is wrong."""

from tests.browser.chromium import find_violations
from tests.browser.conftest import NewPage

PAGE = "<html lang=en><title>A page</title><main><h1>A page</h1>{}</main>"


def test_axe_finds_an_image_without_an_alternative_text(new_page: NewPage) -> None:
    page = new_page()
    page.set_content(PAGE.format("<img src='data:,'>"))
    [found] = find_violations(page)
    assert found.startswith("image-alt:")


def test_axe_finds_nothing_in_an_accessible_page(new_page: NewPage) -> None:
    page = new_page()
    page.set_content(PAGE.format("<p>Text.</p>"))
    assert find_violations(page) == []
