"""MCP client of the commands, connected to a server in this or another process.

Commands call the same tools as agents, so both get the same answers. If no other process holds the
home, the command opens it and serves other clients through the socket until it ends.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import anyio
from anyio.abc import UNIXSocketStream
from mcp import Client
from mcp.types import Implementation

from quinion import __version__
from quinion.cli.progress import Bars
from quinion.concurrency import in_thread
from quinion.daemon.client import HolderWait, find
from quinion.daemon.jsonrpc_stream import LineStream, exchange
from quinion.daemon.socket_server import open_socket_server
from quinion.engine import open_engine
from quinion.errors import HomeInUse, QuinionError
from quinion.servers.base import serving
from quinion.servers.registry import Entry, find_server
from quinion.settings import Settings

Answer = dict[str, Any]

COMMAND = Implementation(name="quinion", version=__version__)
"""How commands name themselves to the servers, e.g. in the request log."""


@asynccontextmanager
async def connect(settings: Settings, name: str) -> AsyncIterator[Client]:
    """Connect to a server in this process, or in the process that holds the home.

    Raises:
        HomeInUse: another process holds the home and refuses the connection.
    """
    entry = find_server(name)
    settings = entry.settings(settings)
    async with AsyncExitStack() as stack:
        patience = HolderWait(settings.home)
        while True:
            client = await _attach(settings, entry, stack) or await _open(settings, entry, stack)
            if client:
                break
            await in_thread(patience.wait)
        yield client


async def _attach(settings: Settings, entry: Entry, stack: AsyncExitStack) -> Client | None:
    link = await in_thread(partial(find, settings, entry.name, is_command=True))
    if link is None:
        return None
    stream = await stack.enter_async_context(await UNIXSocketStream.from_socket(link))
    client = Client(exchange(LineStream(stream)), client_info=COMMAND)
    return await stack.enter_async_context(client)


async def _open(settings: Settings, entry: Entry, stack: AsyncExitStack) -> Client | None:
    try:
        engine = await stack.enter_async_context(open_engine(settings))
    except HomeInUse as error:
        if error.folder == settings.home:
            return None
        raise  # another home uses the same store folder
    door = await stack.enter_async_context(open_socket_server(engine))
    stack.enter_context(serving(command=True))
    return await stack.enter_async_context(
        Client(door.server(entry, settings), client_info=COMMAND)
    )


async def call(client: Client, tool: str, arguments: Answer, progress: Any = None) -> Answer:
    """Call a tool and return its structured answer."""
    result = await client.call_tool(tool, arguments, progress_callback=progress)
    if result.structured_content is None:
        raise QuinionError(f"{tool} returned no structured answer: {result.content}")
    answer: Answer = result.structured_content
    return answer


def run_tool(settings: Settings, name: str, tool: str, arguments: Answer, title: str) -> Answer:
    """Call a tool of a server that answers with a `status`; a title adds a progress bar.

    Raises:
        QuinionError: the tool returned an error.
    """

    async def run() -> Answer:
        async with connect(settings, name) as client:
            if not title:
                return await call(client, tool, arguments)
            with Bars() as bars, bars.follow(title) as show:
                return await call(client, tool, arguments, show)

    answer = anyio.run(run)
    if answer.get("status") == "error":
        raise QuinionError(answer["message"])
    return answer
