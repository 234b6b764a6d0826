"""A server of the tests' own that speaks Ollama's HTTP API, and OpenAI's as Ollama does.

Its model counts words: texts that share words are near each other, so a search finds what it
should. What may go wrong with such a server can be made to: `fail` is for the next requests for
vectors, `always` for all of them.
"""

import json
import re
import socket
import sys
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "nomic-embed-text"
DIGEST = "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"
CHAT_MODEL = "llama3.2"

Rows = list[list[float]]


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: Any

    @property
    def texts(self) -> list[str]:
        return list(self.body["input"])


class OllamaServer:
    """On a free port, until it is closed."""

    def __init__(self) -> None:
        self.models = {f"{MODEL}:latest": DIGEST, f"{CHAT_MODEL}:latest": "a80c4f17acd5" * 5}
        self.dimensions = 256
        self.api_key: str | None = None
        self.requests: list[Request] = []
        self.connections = 0
        self.always: Fault | None = None
        self.arrived = threading.Event()
        self.released = threading.Event()
        self._faults: deque[Fault] = deque()
        self._open: set[socket.socket] = set()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.ours = self
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def fail(self, *faults: "Fault") -> None:
        """Answer the next requests for vectors like this, one each."""
        self._faults.extend(faults)

    def close(self) -> None:
        """Stop listening, and end the connections that are open, as a killed process does."""
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self.hang_up()

    def hang_up(self) -> None:
        """End the connections that are open."""
        for connection in list(self._open):
            connection.shutdown(socket.SHUT_RDWR)

    @property
    def texts(self) -> list[list[str]]:
        """What came in to be embedded, request by request."""
        return [request.texts for request in self.requests if request.body]

    def next_fault(self) -> "Fault | None":
        return self._faults.popleft() if self._faults else self.always

    def opened(self, connection: socket.socket) -> None:
        self.connections += 1
        self._open.add(connection)

    def ended(self, connection: socket.socket) -> None:
        self._open.discard(connection)


@contextmanager
def ollama_server() -> Iterator[OllamaServer]:
    server = OllamaServer()
    try:
        yield server
    finally:
        server.close()


def embed(text: str, dimensions: int) -> list[float]:
    """How often each word is there, and a one, because no text means nothing."""
    vector = [1.0] + [0.0] * (dimensions - 1)
    for word in re.findall(r"\w+", re.sub(r"^search_(document|query): ", "", text.lower())):
        vector[1 + zlib.crc32(word.encode()) % (dimensions - 1)] += 2.0
    return vector


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    ours: OllamaServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
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

    def do_GET(self) -> None:
        self.ours.requests.append(Request(self.path, dict(self.headers), None))
        if self.path == "/api/tags":
            models = [{"name": n, "model": n, "digest": d} for n, d in self.ours.models.items()]
            self.reply(200, {"models": models})
        else:
            self.reply_text(404, "404 page not found", "text/plain")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.ours.requests.append(Request(self.path, dict(self.headers), body))
        answers = {"/api/embed": self.reply_as_ollama, "/v1/embeddings": self.reply_as_openai}
        if self.path not in answers:
            self.reply_text(404, "404 page not found", "text/plain")
        elif self.ours.api_key and not self.has_key():
            self.reply(401, {"error": {"message": "Incorrect API key provided."}})
        elif not {body["model"], f"{body['model']}:latest"} & self.ours.models.keys():
            self.reply(404, {"error": f'model "{body["model"]}" not found, try pulling it first'})
        elif fault := self.ours.next_fault():
            fault(self, answers[self.path], body["input"])
        elif body["model"].startswith(CHAT_MODEL):
            self.reply(500, {"error": "this model does not support embeddings"})
        else:
            answers[self.path](self.embed(body["input"]))

    def has_key(self) -> bool:
        return self.headers["Authorization"] == f"Bearer {self.ours.api_key}"

    def embed(self, texts: list[str]) -> Rows:
        return [embed(text, self.ours.dimensions) for text in texts]

    def reply_as_ollama(self, rows: Rows) -> None:
        self.reply(200, {"model": MODEL, "embeddings": rows})

    def reply_as_openai(self, rows: Rows) -> None:
        # The last first: the index counts, not the order.
        data = [{"object": "embedding", "index": i, "embedding": r} for i, r in enumerate(rows)]
        self.reply(200, {"object": "list", "data": data[::-1], "model": MODEL})

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
        """The tests look at `requests`."""


Fault = Callable[[_Handler, Callable[[Rows], None], list[str]], None]


def refuse(status: int, error: str = "out of order", **headers: str) -> Fault:
    """Answer with this status. `Retry_After="1"` is a header."""

    def fault(handler: _Handler, _: Callable[[Rows], None], texts: list[str]) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        handler.reply(status, {"error": error}, named)

    return fault


def say(text: str, media_type: str = "application/json") -> Fault:
    """Answer 200 with this text."""

    def fault(handler: _Handler, _: Callable[[Rows], None], texts: list[str]) -> None:
        handler.reply_text(200, text, media_type)

    return fault


def change(alter: Callable[[Rows], Rows]) -> Fault:
    """Answer with vectors that are not the right ones."""

    def fault(handler: _Handler, answer: Callable[[Rows], None], texts: list[str]) -> None:
        answer(alter(handler.embed(texts)))

    return fault


def hang(handler: _Handler, _: Callable[[Rows], None], texts: list[str]) -> None:
    """Say nothing until the server is closed or `released`."""
    handler.ours.arrived.set()
    handler.ours.released.wait()
    handler.close_connection = True


def hold_batches(handler: _Handler, answer: Callable[[Rows], None], texts: list[str]) -> None:
    """Answer single texts at once, and more than one when the server is `released`."""
    if len(texts) > 1:
        handler.ours.arrived.set()
        handler.ours.released.wait()
    answer(handler.embed(texts))


def drip(handler: _Handler, _: Callable[[Rows], None], texts: list[str]) -> None:
    """Begin to answer, and go on by one byte at a time."""
    handler.begin(200, 1_000_000, "application/json")
    while not handler.ours.released.is_set():
        handler.wfile.write(b" ")
        time.sleep(0.02)


def drop(handler: _Handler, _: Callable[[Rows], None], texts: list[str]) -> None:
    """End the connection instead of answering."""
    handler.close_connection = True


def cut(handler: _Handler, _: Callable[[Rows], None], texts: list[str]) -> None:
    """End the connection in the middle of the answer."""
    handler.begin(200, 1000, "application/json")
    handler.wfile.write(b'{"embeddings": [[0.1, ')
    handler.close_connection = True
