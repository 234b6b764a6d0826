"""Registration of the MCP App in a server.

A client that supports MCP Apps reads `evidence.html` as a resource and shows it with the result
of a tool that names it. The page calls tools that only the app sees. All other clients get the
lists of tools and resources without these additions; only the name of the page is in the `_meta`
of the tools whose results it shows.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from mcp.server.apps import Apps, client_supports_apps
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.mcpserver.tools import Tool
from mcp.types import Resource
from mcp.types import Tool as ListedTool

APP_URI = "ui://quinion/evidence.html"
APP_FILE = Path(__file__).with_name("evidence.html")

_SHOWN: dict[str, Any] = {"ui": {"resourceUri": APP_URI}}
_CALLED: dict[str, Any] = {"ui": {"resourceUri": APP_URI, "visibility": ["app"]}}

FindListed = Callable[[], Awaitable[Sequence[ListedTool | Resource]]]


def make_app() -> Apps:
    """Create the extension with the page. It declares no domains, so it cannot load anything."""
    app = Apps()
    app.add_html_resource(
        APP_URI,
        APP_FILE.read_text(encoding="utf-8"),
        name="evidence",
        title="Search results with their pages",
        description="Shows search results as cards, and each passage marked on its page.",
        prefers_border=True,
    )
    return app


def name_app(tools: Iterable[Tool], *, only: bool = False) -> list[Tool]:
    """Name the page in tools: it shows their results, or is the `only` one that calls them."""
    meta = _CALLED if only else _SHOWN
    return [tool.model_copy(update={"meta": {**(tool.meta or {}), **meta}}) for tool in tools]


class AppListing(ServerMiddleware[Any]):
    """Middleware that adds the app's tools and its page to the lists of clients with Apps."""

    def __init__(self, find_tools: FindListed, find_resources: FindListed) -> None:
        self._additions = {
            "tools/list": ("tools", find_tools),
            "resources/list": ("resources", find_resources),
        }

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Pass a message on; extend its answer if it is a list."""
        result = await call_next(ctx)
        if ctx.method not in self._additions or not client_supports_apps(ctx):
            return result
        assert isinstance(result, dict)
        key, find = self._additions[ctx.method]
        added = [one.model_dump(by_alias=True, exclude_none=True) for one in await find()]
        return {**result, key: [*result[key], *added]}
