"""The process that holds a home, as another process sees it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client

from quinion.errors import BadSetting, HomeInUse
from quinion.settings import Settings
from quinion.store.lock import read_holder

KNOCK_S = 10.0
SILENCE_S = 30 * 86_400.0
"""How long a client of the holder may have nothing to say: a desktop may sleep for days."""


def find_address(settings: Settings, server: str, refused: HomeInUse) -> str:
    """Where the holder of the home runs this server.

    Raises:
        HomeInUse: it does not run it over HTTP; this is `refused` again.
    """
    holder = read_holder(settings.home)
    if holder is None or server not in holder.addresses:
        raise refused
    return holder.addresses[server]


@asynccontextmanager
async def dial(address: str, settings: Settings) -> AsyncIterator[TransportStreams]:
    """A connection to a server of the holder, over SSE: it carries messages as they are.

    Raises:
        BadSetting: it wants another token.
        HomeInUse: it does not answer.
    """
    headers = _authorization(settings)
    await _knock(address, headers)
    async with sse_client(f"{address}/sse", headers, sse_read_timeout=SILENCE_S) as streams:
        yield streams


async def _knock(address: str, headers: dict[str, str]) -> None:
    """Ask at the door first, where an answer can still be told from a broken connection."""
    try:
        async with httpx2.AsyncClient(timeout=KNOCK_S) as client:
            answer = await client.post(f"{address}/messages/", headers=headers)
    except httpx2.HTTPError as error:
        raise HomeInUse(
            f"The server at {address} has the home and does not answer ({error}). "
            "Stop it, or set QUINION_HOME to another folder."
        ) from error
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        raise BadSetting(
            f"The server at {address} has the home and wants a token. "
            "Set MCP_API_KEY to the one that it was started with."
        )


def _authorization(settings: Settings) -> dict[str, str]:
    """The header that the holder's servers want, if they want any."""
    if settings.api_key is None:
        return {}
    return {"Authorization": f"Bearer {settings.api_key.get_secret_value()}"}
