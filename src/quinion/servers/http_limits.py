"""Time and size limits for incoming HTTP requests.

uvicorn waits without limit for the rest of a request and buffers headers of any length. Anyone
who reaches the port could exploit both. The limits for request headers are on the connection,
those for bodies are in a middleware around the app. Responses have no time limit.
"""

import asyncio
from typing import Any

import anyio
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_TIMEOUT_S = 20.0
"""From the start of the connection or request to the end of the headers."""
MAX_HEAD_BYTES = 64 << 10
BODY_TIMEOUT_S = 30.0
"""Base for every body, extended by a second for each `MIN_BODY_RATE` bytes received."""
MIN_BODY_RATE = 64 << 10


class HeadTimeoutProtocol(HttpToolsProtocol):
    """HTTP connection that is closed when the headers are late or too long."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._in_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._in_body:
            self._head_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._head_bytes > MAX_HEAD_BYTES:
            self.send_400_response("The headers are too long.")
        elif self.cycle is None or self.cycle.response_complete:
            # Also covers the rest of a rejected body, which no handler reads.
            self._start_deadline()

    def on_headers_complete(self) -> None:
        self._cancel_deadline()
        self._in_body = True
        self._head_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.close)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class BodyTimeout:
    """ASGI middleware: answer 408 to a late request body and close the connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Request(receive, send)
        with request.scope:
            await self._app(scope, request.receive, request.send)
        if request.is_late and not request.is_answered:
            answer = PlainTextResponse(
                "The request took too long to arrive. Send it again.",
                408,
                {"Connection": "close"},
            )
            await answer(scope, receive, send)


class _Request:
    """State of one request body. `scope` is cancelled when the rest is late or the client has
    disconnected, which the SDK would otherwise treat as an error."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self.scope = anyio.CancelScope()
        self.is_late = False
        self.is_answered = False
        self._receive = receive
        self._send = send
        self._is_complete = False
        self._deadline = anyio.current_time() + BODY_TIMEOUT_S

    async def receive(self) -> Message:
        if self._is_complete:
            return await self._receive()
        with anyio.CancelScope(deadline=self._deadline) as timeout:
            message = await self._receive()
            if message["type"] == "http.request":
                self._deadline += len(message.get("body", b"")) / MIN_BODY_RATE
                self._is_complete = not message.get("more_body", False)
                return message
        self.is_late = timeout.cancelled_caught
        self.scope.cancel()
        await anyio.sleep_forever()
        raise AssertionError  # pragma: no cover

    async def send(self, message: Message) -> None:
        self.is_answered = True
        await self._send(message)
