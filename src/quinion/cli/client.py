"""How a command reaches a server: in this process, or in the one that has the home.

Commands speak to servers as any MCP client does, so what people see is what agents get.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client

from quinion.errors import HomeInUse, QuinionError
from quinion.pipeline.engine import open_engine
from quinion.servers.catalog import find_server
from quinion.servers.holder import dial, find_address
from quinion.settings import Settings

Answer = dict[str, Any]


@asynccontextmanager
async def connect(settings: Settings, name: str) -> AsyncIterator[Client]:
    """A client of the server: our own, or that of the process which has the home.

    Raises:
        HomeInUse: another process has the home and does not run this server over HTTP.
    """
    entry = find_server(name)
    settings = entry.settings(settings)
    try:
        async with open_engine(settings) as engine, Client(entry.load().build(engine)) as client:
            yield client
    except HomeInUse as error:
        address = find_address(settings, name, error)
        async with Client(dial(address, settings)) as client:
            yield client


async def call(client: Client, tool: str, arguments: Answer, progress: Any = None) -> Answer:
    """The structured answer of a tool."""
    result = await client.call_tool(tool, arguments, progress_callback=progress)
    if result.structured_content is None:
        raise QuinionError(f"{tool} gave no structured answer: {result.content}")
    answer: Answer = result.structured_content
    return answer
