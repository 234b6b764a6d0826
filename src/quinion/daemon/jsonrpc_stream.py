"""MCP messages as lines on a byte stream: what stdio has, on a socket."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import ByteStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage, jsonrpc_message_adapter

from quinion.concurrency import as_raised

READ_BYTES = 1 << 16
LAST_WORDS_S = 5.0
"""How long the other side may take to read what was still to be said to it."""
GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError)

Watch = Callable[[JSONRPCMessage], None]


class Lines:
    """A byte stream, read line by line."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._buffer = bytearray()

    async def read(self) -> bytes | None:
        """The next line without its end; None when there is no more."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            try:
                self._buffer += await self._stream.receive(READ_BYTES)
            except (anyio.EndOfStream, *GONE):
                return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    async def write(self, line: bytes) -> None:
        """Send a line."""
        await self._stream.send(line + b"\n")


@asynccontextmanager
async def exchange(
    lines: Lines, on_read: Watch | None = None, on_written: Watch | None = None
) -> AsyncIterator[TransportStreams]:
    """The messages that come and go as lines; each may be watched as it does."""
    received, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
    write, to_send = anyio.create_memory_object_stream[SessionMessage]()
    said = anyio.Event()

    async def bring() -> None:
        async with received:
            with suppress(*GONE):
                while (line := await lines.read()) is not None:
                    await received.send(_parse(line, on_read))

    async def send() -> None:
        async with to_send:
            with suppress(*GONE):
                async for one in to_send:
                    text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await lines.write(text.encode())
                    if on_written:
                        on_written(one.message)
        said.set()

    with as_raised():
        async with anyio.create_task_group() as group:
            group.start_soon(bring)
            group.start_soon(send)
            async with read, write:
                yield read, write
            with anyio.move_on_after(LAST_WORDS_S):
                await said.wait()
            group.cancel_scope.cancel()


def _parse(line: bytes, on_read: Watch | None) -> SessionMessage | Exception:
    try:
        # As the SDK does on stdio: bytes that are no UTF-8 make a text with replacements.
        message = jsonrpc_message_adapter.validate_json(
            line.decode(errors="replace"), by_name=False
        )
    except ValueError as error:
        return error
    if on_read:
        on_read(message)
    return SessionMessage(message)
