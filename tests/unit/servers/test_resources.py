"""Addresses of resources, and what a server says of wrong ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import MCPError
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.exceptions import (
    ResourceError,
    ResourceNotFoundError,
    UnexpectedResourceError,
)
from mcp.shared.uri_template import UriTemplate
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, InputRequiredResult
from mcp.types import Resource as ListedResource

from quinion.errors import DocumentMissing, StoreUnavailable
from quinion.servers.document_store import resources as document_store
from quinion.servers.docvec import resources as docvec
from quinion.servers.policy_kb import resources as policy_kb
from quinion.servers.resources import (
    MAX_LISTED,
    MAX_URI_LENGTH,
    ReadableServer,
    add_continuation,
    fill_uri,
)
from quinion.servers.response_size import MAX_RESULT_BYTES

TEMPLATES = [
    document_store.APPLICATION,
    document_store.DOCUMENT,
    docvec.FILE,
    policy_kb.REVISIONS,
    policy_kb.SECTION,
    policy_kb.REVISION_SECTION,
]
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ReadableServer:
    """A server with resources and prompts that fail, each in a way of its own."""
    server = ReadableServer("test", title="Test", instructions="", tools=[], icon=None)

    @server.resource("test://fixed")
    def fixed() -> str:
        raise StoreUnavailable("The store is on strike.")

    @server.resource("test://thing/{name}{?part}")
    async def thing(name: str, part: int = 0) -> str:
        if name == "bug":
            raise KeyError(name)
        if name == "store":
            raise StoreUnavailable("The store is on strike.")
        if name == "missing":
            raise DocumentMissing("There is no such thing.")
        return f"{name} {part}"

    @server.prompt()
    def ask(name: str, count: int = 1) -> str:
        if name == "bug":
            raise KeyError(name)
        if name == "missing":
            raise DocumentMissing("There is no such thing.") from KeyError(name)
        return f"{name} {count}"

    return server


async def read(server: ReadableServer, uri: str) -> str:
    result = await server.read_resource(uri)
    assert not isinstance(result, InputRequiredResult)
    [content] = result
    assert isinstance(content, ReadResourceContents)
    assert isinstance(content.content, str)
    return content.content


@pytest.mark.parametrize("template", TEMPLATES)
@given(st.data())
def test_whatever_is_put_into_an_address_comes_out_of_it(
    template: str, data: st.DataObject
) -> None:
    parsed = UriTemplate.parse(template)
    values = {name: data.draw(NAMES, label=name) for name in parsed.variable_names}
    filled = fill_uri(template, **values)
    assert filled.isascii()
    assert parsed.match(filled) == values


def test_a_text_that_ends_says_nothing_more() -> None:
    assert add_continuation("All of it.", None) == "All of it."
    assert add_continuation("Some of it.", "test://2").endswith("goes on at test://2]")


async def test_a_value_may_look_like_a_path(server: ReadableServer) -> None:
    for name in ("/etc/passwd", "../../up", "C:\\x"):
        uri = fill_uri("test://thing/{name}{?part}", name=name, part=3)
        assert await read(server, uri) == f"{name} 3"


@pytest.mark.parametrize(
    ("uri", "kind", "words"),
    [
        ("test://thing/missing", ResourceNotFoundError, "There is no such thing."),
        ("test://thing/a?part=b", ResourceNotFoundError, "part: Input should be a valid integer"),
        ("test://thing", ResourceNotFoundError, "There are: test://fixed, test://thing/{name}"),
        ("test://thing/store", ResourceError, "The store is on strike."),
        ("test://fixed", ResourceError, "The store is on strike."),
        ("test://thing/bug", UnexpectedResourceError, "test://thing/bug"),
    ],
)
async def test_what_is_wrong_with_a_resource_is_said(
    server: ReadableServer, uri: str, kind: type[ResourceError], words: str
) -> None:
    with pytest.raises(ResourceError) as caught:
        await read(server, uri)
    assert type(caught.value) is kind
    assert words in str(caught.value)


async def test_an_address_that_is_too_long_is_not_repeated(server: ReadableServer) -> None:
    with pytest.raises(MCPError) as caught:
        await read(server, "test://thing/" + "x" * MAX_URI_LENGTH)
    assert caught.value.error.code == INVALID_PARAMS
    assert len(caught.value.error.message) < 100


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("ask", {"name": "missing"}, "There is no such thing."),
        ("ask", {"name": "a", "count": "b"}, "The arguments of ask are wrong. count: "),
        ("ask", {}, "Missing required arguments: {'name'}. The prompts are: ask."),
        ("beg", {}, "Unknown prompt: beg. The prompts are: ask."),
    ],
)
async def test_what_is_wrong_with_a_prompt_is_said(
    server: ReadableServer, name: str, arguments: dict[str, str], words: str
) -> None:
    with pytest.raises(MCPError) as caught:
        await server.get_prompt(name, arguments)
    assert caught.value.error.code == INVALID_PARAMS
    assert words in caught.value.error.message


async def test_a_fault_of_ours_in_a_prompt_is_not_the_callers(server: ReadableServer) -> None:
    with pytest.raises(ValueError, match="ask"):
        await server.get_prompt("ask", {"name": "bug"})


async def test_a_list_is_neither_long_nor_large(server: ReadableServer) -> None:
    found = [ListedResource(uri=f"test://{n}", name=str(n)) for n in range(MAX_LISTED + 1)]

    async def find() -> list[ListedResource]:
        return found

    server.add_listing(find)
    assert [str(one.uri) for one in await server.list_resources()] == [
        *("test://fixed", *(f"test://{n}" for n in range(MAX_LISTED)))
    ]
    found[:] = [ListedResource(uri=f"test://{'x' * (MAX_RESULT_BYTES // 8)}", name="x")] * 10
    assert 1 < len(await server.list_resources()) < 10


async def test_a_store_that_fails_is_no_empty_list(server: ReadableServer) -> None:
    async def find() -> list[ListedResource]:
        raise StoreUnavailable("The store is on strike.")

    server.add_listing(find)
    with pytest.raises(MCPError) as caught:
        await server.list_resources()
    assert caught.value.error.code == INTERNAL_ERROR
    assert caught.value.error.message == "The store is on strike."
