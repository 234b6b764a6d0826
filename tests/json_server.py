"""Small HTTP server that answers in JSON, for tests of HTTP clients.

A subclass defines the answers. Common server faults can be injected: with `fail` for the next
requests, with `always` for all of them.
"""

import json
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """A received request."""

    path: str
    headers: dict[str, str]
    body: Any


class JsonServer:
    """Server on a free port, until it is closed. `handler` is the handler class."""

    def __init__(self, handler: type["Handler"]) -> None:
        self.api_key: str | None = None
        self.requests: list[Request] = []
        self.connections = 0
        self.always: Fault | None = None
        self.arrived = threading.Event()
        self.released = threading.Event()
        self._faults: deque[Fault] = deque()
        self._open: set[socket.socket] = set()
        self._http = _Server(("127.0.0.1", 0), handler)
        self._http.ours = self
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def fail(self, *faults: "Fault") -> None:
        """Answer the next requests like this, one each."""
        self._faults.extend(faults)

    def close(self) -> None:
        """Stop listening and close all connections, like a killed process."""
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self.hang_up()

    def hang_up(self) -> None:
        """Close all connections."""
        for connection in list(self._open):
            with suppress(OSError):  # already closed
                connection.shutdown(socket.SHUT_RDWR)

    def next_fault(self) -> "Fault | None":
        return self._faults.popleft() if self._faults else self.always

    def opened(self, connection: socket.socket) -> None:
        self.connections += 1
        self._open.add(connection)

    def ended(self, connection: socket.socket) -> None:
        self._open.discard(connection)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    ours: Any

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Handler of one connection; `ours` is its server."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.ours = self.server.ours
        self.ours.opened(self.connection)

    def finish(self) -> None:
        self.ours.ended(self.connection)
        super().finish()

    def read_body(self) -> Any:
        """Read the JSON body and record the request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.ours.requests.append(Request(self.path, dict(self.headers), body))
        return body

    def has_key(self) -> bool:
        """Whether the client sent the right key."""
        key = self.ours.api_key
        return not key or self.headers["Authorization"] == f"Bearer {key}"

    def refuse_key(self) -> None:
        self.reply(401, {"error": {"message": "Incorrect API key provided."}})

    def reply(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self.reply_text(status, json.dumps(body), "application/json", headers)

    def reply_text(
        self, status: int, text: str, media_type: str, headers: dict[str, str] | None = None
    ) -> None:
        content = text.encode()
        self.begin(status, len(content), media_type, headers)
        self.wfile.write(content)

    def begin(
        self, status: int, length: int, media_type: str, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{media_type}; charset=utf-8")
        self.send_header("Content-Length", str(length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing; the tests read `requests`."""


Fault = Callable[[Any, Callable[[Any], None], Any], None]
"""Fault function: receives the handler, the regular answer function, and the request body."""


def refuse(status: int, error: str = "out of order", **headers: str) -> Fault:
    """Answer with this status. `Retry_After="1"` is a header."""

    def fault(handler: Handler, _: Callable[[Any], None], asked: Any) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        handler.reply(status, {"error": error}, named)

    return fault


def say(text: str, media_type: str = "application/json") -> Fault:
    """Answer 200 with this text."""

    def fault(handler: Handler, _: Callable[[Any], None], asked: Any) -> None:
        handler.reply_text(200, text, media_type)

    return fault


def hang(handler: Handler, _: Callable[[Any], None], asked: Any) -> None:
    """Do not answer until the server is closed or `released`."""
    handler.ours.arrived.set()
    handler.ours.released.wait()
    handler.close_connection = True


def drip(handler: Handler, _: Callable[[Any], None], asked: Any) -> None:
    """Answer slowly, one byte at a time."""
    handler.begin(200, 1_000_000, "application/json")
    while not handler.ours.released.is_set():
        handler.wfile.write(b" ")
        time.sleep(0.02)


def drop(handler: Handler, _: Callable[[Any], None], asked: Any) -> None:
    """Close the connection instead of answering."""
    handler.close_connection = True


def cut(handler: Handler, _: Callable[[Any], None], asked: Any) -> None:
    """Close the connection in the middle of the answer."""
    handler.begin(200, 1000, "application/json")
    handler.wfile.write(b'{"embeddings": [[0.1, ')
    handler.close_connection = True
