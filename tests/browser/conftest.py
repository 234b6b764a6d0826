"""The browser, one for each module of tests, and its pages."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.chromium import launch
from tests.contract.conftest import models, new_home, shared  # noqa: F401 - fixtures here too

TIMEOUT_MS = 15_000
NewPage = Callable[..., Page]
"""Opens a page in a context of its own; its arguments are those of `Browser.new_context`."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A running Chromium; the tests are skipped without one."""
    with launch() as browser:
        yield browser


@pytest.fixture
def new_page(browser: Browser) -> Iterator[NewPage]:
    """Pages that are closed at the end of the test; uncaught errors in them fail it."""
    errors: list[str] = []

    def open_page(**options: object) -> Page:
        page = browser.new_context(**options).new_page()  # type: ignore[arg-type]
        page.set_default_timeout(TIMEOUT_MS)
        page.on("pageerror", lambda error: errors.append(error.message))
        return page

    yield open_page
    for context in browser.contexts:
        context.close()
    assert not errors
