"""Host page that shows the MCP App of search results in Chromium, as an MCP client does.

The page uses the bridge of the npm package `@modelcontextprotocol/ext-apps`. The app is in a
sandboxed frame, under the policy that clients set for an app that declares no domains. Nothing
comes from the network: each request of the browser is answered here or blocked and recorded.
"""

import mimetypes
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mcp.client import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.types import CallToolResult
from playwright.sync_api import FrameLocator, Page, Route

from quinion.servers.app.app import APP_FILE
from tests.browser.chromium import PACKAGES, find_violations

HOST = "http://host.test"
APP = "http://app.test/evidence.html"
PAGES = Path(__file__).parent / "host"
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
"""What the specification of MCP Apps prescribes where an app declares nothing."""

APPS = advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})
"""What a client with Apps declares."""

Answer = dict[str, Any]
CallTool = Callable[[str, Answer], Answer]
"""Calls a tool with these arguments; returns the result as a client receives it."""


def dump(result: object) -> Answer:
    """Return the result of a tool as a host passes it to the app."""
    assert isinstance(result, CallToolResult)
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


class HostPage:
    """A host with the app in it."""

    def __init__(self, page: Page, call_tool: CallTool, html: str | None = None) -> None:
        self.page = page
        self.calls: list[tuple[str, Answer]] = []
        self.blocked: list[str] = []
        self._call_tool = call_tool
        self._html = html or APP_FILE.read_text(encoding="utf-8")
        page.context.route("**/*", self._answer)
        page.expose_function("callTool", self._call)
        page.goto(f"{HOST}/host.html")
        page.wait_for_function("window.ready")

    @property
    def app(self) -> FrameLocator:
        """The content of the app's frame."""
        return self.page.frame_locator("iframe")

    def open(self, **context: object) -> "HostPage":
        """Load the app with this context of the host."""
        self.page.evaluate("context => host.open(context)", context)
        return self

    def show(self, result: Answer, **arguments: object) -> "HostPage":
        """Send the arguments and the result of a tool to the app."""
        self.send("sendToolInput", {"arguments": arguments})
        self.send("sendToolResult", result)
        return self

    def send(self, method: str, message: object) -> None:
        """Call a method of the bridge."""
        self.page.evaluate("([method, message]) => host.bridge[method](message)", [method, message])

    def find_violations(self) -> list[str]:
        """Return what axe-core criticizes in the app."""
        return find_violations(self.page.frames[-1])

    @property
    def errors(self) -> list[str]:
        """Messages of the app that the bridge rejected."""
        found: list[str] = self.page.evaluate("host.errors")
        return found

    def _call(self, params: Answer) -> Answer:
        self.calls.append((params["name"], params.get("arguments", {})))
        return self._call_tool(*self.calls[-1])

    def _answer(self, route: Route) -> None:
        url = route.request.url
        path = urlsplit(url).path
        if url == APP:
            headers = {"Content-Security-Policy": POLICY}
            route.fulfill(body=self._html, content_type="text/html; charset=utf-8", headers=headers)
        elif url.startswith(f"{HOST}/packages/"):
            route.fulfill(
                path=PACKAGES / path.removeprefix("/packages/"), content_type="text/javascript"
            )
        elif url.startswith(HOST) and (PAGES / path[1:]).is_file():
            route.fulfill(path=PAGES / path[1:], content_type=mimetypes.guess_type(path)[0])
        else:
            self.blocked.append(url)
            route.abort()
