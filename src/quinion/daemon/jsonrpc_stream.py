"""JSON-RPC stream: MCP messages as lines on a socket, as on stdio."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import ByteStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage, jsonrpc_message_adapter

from quinion.concurrency import as_raised

READ_BYTES = 1 << 16
FLUSH_S = 5.0
"""How long to wait at the end until the last messages are written."""
CONNECTION_LOST = (anyio.BrokenResourceError, anyio.ClosedResourceError)

Watch = Callable[[JSONRPCMessage], None]


class LineStream:
    """A byte stream, read line by line."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._buffer = bytearray()

    async def read(self) -> bytes | None:
        """The next line without its newline; None at the end of the stream."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            try:
                self._buffer += await self._stream.receive(READ_BYTES)
            except (anyio.EndOfStream, *CONNECTION_LOST):
                return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    async def write(self, line: bytes) -> None:
        """Send a line."""
        await self._stream.send(line + b"\n")


@asynccontextmanager
async def exchange(
    lines: LineStream, on_read: Watch | None = None, on_written: Watch | None = None
) -> AsyncIterator[TransportStreams]:
    """Streams of MCP messages over `lines`; the callbacks see each message read or written."""
    received, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
    write, to_send = anyio.create_memory_object_stream[SessionMessage]()
    flushed = anyio.Event()

    async def receive() -> None:
        async with received:
            with suppress(*CONNECTION_LOST):
                while (line := await lines.read()) is not None:
                    await received.send(_parse(line, on_read))

    async def send() -> None:
        async with to_send:
            with suppress(*CONNECTION_LOST):
                async for one in to_send:
                    text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await lines.write(text.encode())
                    if on_written:
                        on_written(one.message)
        flushed.set()

    with as_raised():
        async with anyio.create_task_group() as group:
            group.start_soon(receive)
            group.start_soon(send)
            async with read, write:
                yield read, write
            with anyio.move_on_after(FLUSH_S):
                await flushed.wait()
            group.cancel_scope.cancel()


def _parse(line: bytes, on_read: Watch | None) -> SessionMessage | Exception:
    try:
        # Like the SDK on stdio: replace bytes that are not UTF-8.
        message = jsonrpc_message_adapter.validate_json(
            line.decode(errors="replace"), by_name=False
        )
    except ValueError as error:
        return error
    if on_read:
        on_read(message)
    return SessionMessage(message)
