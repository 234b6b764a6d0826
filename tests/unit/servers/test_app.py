"""The MCP App of search results: who sees it, and what its page may do."""

import re
from typing import Any

import pytest
from mcp import Client
from mcp.client.extension import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.types import CallToolResult, TextResourceContents
from pydantic import BaseModel

from quinion.servers.app.app import APP_FILE, APP_URI
from quinion.servers.base import ContractServer, make_tool

MAX_BYTES = 150_000
APPS = advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})
OTHER_APPS = advertise(EXTENSION_ID, {"mimeTypes": ["text/plain"]})
DIALECTS = ["legacy", "auto"]
"""Modes of the client: the protocol before 2026, and the newest."""

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Failed(BaseModel):
    error: str


class Found(BaseModel):
    count: int


def make_server() -> ContractServer:
    async def search(query: str) -> Found:
        """Search."""
        return Found(count=len(query))

    async def show(chunk_id: str) -> Found:
        """Show a page."""
        return Found(count=len(chunk_id))

    async def delete(chunk_id: str) -> Found:
        """Delete a chunk."""
        return Found(count=len(chunk_id))

    return ContractServer(
        "toy",
        title="Toy",
        instructions="",
        tools=[
            make_tool(search, title="Search", read_only=True),
            make_tool(delete, title="Delete", read_only=False),
        ],
        app_tools=[make_tool(show, title="Show", read_only=True)],
        shown_by_app=["search"],
        make_error=lambda _, message: Failed(error=message),
    )


def connect(mode: str, *extensions: Any) -> Client:
    return Client(make_server(), mode=mode, extensions=extensions)


@pytest.mark.parametrize("mode", DIALECTS)
async def test_a_client_with_apps_sees_the_page_and_the_tool_for_it(mode: str) -> None:
    async with connect(mode, APPS) as client:
        tools = {tool.name: tool.meta for tool in (await client.list_tools()).tools}
        [page] = (await client.list_resources()).resources
    assert tools == {
        "search": {"ui": {"resourceUri": APP_URI}},
        "delete": None,
        "show": {"ui": {"resourceUri": APP_URI, "visibility": ["app"]}},
    }
    assert (page.uri, page.mime_type) == (APP_URI, APP_MIME_TYPE)


@pytest.mark.parametrize("mode", DIALECTS)
@pytest.mark.parametrize("extensions", [[], [OTHER_APPS]])
async def test_other_clients_see_neither(mode: str, extensions: list[Any]) -> None:
    async with connect(mode, *extensions) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"search", "delete"}
        assert (await client.list_resources()).resources == []


async def test_the_lists_of_both_agree_on_all_else() -> None:
    async with connect("auto", APPS) as one, connect("auto") as other:
        with_app = {tool.name: tool for tool in (await one.list_tools()).tools}
        without = {tool.name: tool for tool in (await other.list_tools()).tools}
    del with_app["show"]
    assert with_app == without


async def test_only_the_app_can_call_its_tool() -> None:
    async with connect("auto", APPS) as client:
        shown = await client.call_tool("show", {"chunk_id": "four"})
    assert isinstance(shown, CallToolResult)
    assert shown.structured_content == {"count": 4}
    async with connect("auto") as client:
        refused = await client.call_tool("show", {"chunk_id": "four"})
    assert isinstance(refused, CallToolResult)
    assert refused.structured_content == {
        "error": "There is no tool 'show'. There are: 'search', 'delete'."
    }


async def test_the_page_is_read_as_a_resource_that_declares_no_domains() -> None:
    async with connect("auto") as client:
        [page] = (await client.read_resource(APP_URI)).contents
    assert isinstance(page, TextResourceContents)
    assert page.text == APP_FILE.read_text(encoding="utf-8")
    assert page.mime_type == APP_MIME_TYPE
    assert page.meta == {"ui": {"prefersBorder": True}}


async def test_the_page_is_small_and_names_nothing_to_load() -> None:
    html = APP_FILE.read_text(encoding="utf-8")
    assert len(html.encode()) < MAX_BYTES
    assert not re.findall(r"\b(?:https?|wss?|blob):|(?:src|href)=|@import|url\(", html)


async def test_the_page_makes_no_markup_or_code_of_strings() -> None:
    html = APP_FILE.read_text(encoding="utf-8")
    sinks = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc"
    assert not re.findall(sinks, html)
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', html)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert rules["trusted-types"] == "'none'"
    assert "unsafe-eval" not in policy
