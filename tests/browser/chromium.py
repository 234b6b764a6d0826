"""Chromium for tests: Debian's own, without a window, driven by Playwright.

`make chromium` installs it, with axe-core and the reference implementation of a host of MCP Apps;
`make test-all` runs it. Playwright's wheel brings its driver and downloads nothing here.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Frame, Page, sync_playwright

PACKAGES = Path(__file__).parent / "node_modules"
AXE = PACKAGES / "axe-core" / "axe.min.js"
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
"""Sets of rules of axe-core."""


def find_chromium() -> str:
    """Return the program; skips the test if it or a package from npm is missing."""
    program = shutil.which("chromium")
    if program is None or not AXE.exists():
        pytest.skip("Chromium or its test packages are missing; run: make chromium")
    return program


@contextmanager
def launch() -> Iterator[Browser]:
    """Start the browser.

    Playwright occupies the event loop of its thread, so other tests of the thread that need a
    loop can only run when it has stopped.
    """
    program = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        try:
            yield browser
        finally:
            browser.close()


def find_violations(page: Page | Frame) -> list[str]:
    """Return what axe-core criticizes in a page or a frame: rule, advice and element."""
    page.evaluate(AXE.read_text(encoding="utf-8") + ";0")
    found: dict[str, Any] = page.evaluate(
        "rules => axe.run(document, {runOnly: rules, iframes: false})", list(RULES)
    )
    return [
        f"{rule['id']}: {rule['help']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
