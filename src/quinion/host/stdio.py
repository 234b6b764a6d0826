"""A server on stdio, for desktop clients that start their servers themselves.

When another process already has the home, messages are passed on to it, unchanged in both
directions, so that a desktop client and a running `quinion serve` can share one home.
"""

import contextlib
import logging
import os

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from quinion.errors import HomeInUse, QuinionError
from quinion.pipeline.engine import Engine, open_engine
from quinion.servers.catalog import Entry
from quinion.servers.contract import ContractServer
from quinion.servers.holder import dial, find_address
from quinion.settings import Settings

log = logging.getLogger(__name__)


async def serve_stdio(settings: Settings, entry: Entry) -> None:
    """Serve one client until it closes stdin.

    Raises:
        HomeInUse: another process has the home, and does not run this server over HTTP.
    """
    settings = entry.settings(settings)
    try:
        async with open_engine(settings) as engine:
            server = entry.load().build(engine)
            async with anyio.create_task_group() as group:
                group.start_soon(_make_ready, engine, server)
                await server.run_stdio_async()
                group.cancel_scope.cancel()
    except HomeInUse as error:
        await _relay(find_address(settings, entry.name, error), settings)


async def _make_ready(engine: Engine, server: ContractServer) -> None:
    """Have all at hand when the client first asks. If it fails, the asking will tell."""
    with contextlib.suppress(QuinionError):
        await engine.store()
        await server.warm()


async def _relay(address: str, settings: Settings) -> None:
    log.info("the home is in use: passing messages on to %s", address)
    async with (
        dial(address, settings) as server,
        stdio_server() as client,
        anyio.create_task_group() as group,
    ):
        group.start_soon(_bring_answers, server[0], client[1], address)
        await _pass_on(client[0], server[1])
        group.cancel_scope.cancel()


async def _bring_answers(
    server: ReadStream[SessionMessage | Exception],
    client: WriteStream[SessionMessage],
    address: str,
) -> None:
    """Pass on what the server says, until the client has gone; end here if the server has.

    The whole process ends then, at once: a thread of the SDK waits for the client's next line
    and cannot be called off, and the client must learn that nobody is there any more.
    """
    try:
        await _pass_on(server, client)
    except anyio.get_cancelled_exc_class():
        raise
    except Exception:
        log.exception("passing messages on failed")
    log.error("the server at %s has gone; start this one again", address)
    logging.shutdown()
    os._exit(1)


async def _pass_on(
    source: ReadStream[SessionMessage | Exception], target: WriteStream[SessionMessage]
) -> None:
    async for message in source:
        if isinstance(message, SessionMessage):
            await target.send(message)
        else:
            log.warning("a message that is not JSON-RPC was dropped: %s", message)
