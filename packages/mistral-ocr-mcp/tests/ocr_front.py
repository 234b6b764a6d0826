"""A real HTTP server in front of the OCR endpoint, with switches for what a cloud may do.

Without an endpoint behind it, it has an API of its own: it takes any file, and answers with
the pages that a test has laid ready. What arrived is noted.
"""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

UPLOAD = "POST /v1/files"
SIGN = "GET /v1/files/url"
OCR = "POST /v1/ocr"
DELETE = "DELETE /v1/files"

Json = dict[str, Any]


@dataclass
class Call:
    """A request that came in."""

    kind: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        answer: Json = json.loads(self.body)
        return answer


@dataclass
class Switch:
    """What to do with the next `times` requests of a kind instead of answering them."""

    kind: str
    times: int
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    act: Callable[["_Handler"], None] | None = None


class Front:
    """The server, its switches, and what it saw."""

    def __init__(self, upstream: str | None) -> None:
        self.upstream = upstream
        self.reset()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.front = self  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def reset(self) -> None:
        """Forget what was seen, and turn all switches off."""
        self.calls: list[Call] = []
        self.switches: list[Switch] = []
        self.answer: Callable[[], Iterable[bytes]] = lambda: [answer_of([])]
        self.before_answer: Callable[[], object] = lambda: None
        self.arrived = threading.Event()
        self.released = threading.Event()

    def lay_ready(self, *pages: Json) -> None:
        """Answer the next documents with these pages."""
        self.answer = lambda: [answer_of(list(pages))]

    def respond(
        self,
        kind: str,
        status: int,
        body: object = "",
        headers: Mapping[str, str] | None = None,
        times: int = 1,
    ) -> None:
        """Answer the next requests of a kind with this."""
        text = body if isinstance(body, str) else json.dumps(body)
        switch = Switch(kind, times, status, headers or {}, text.encode())
        self.switches.append(switch)

    def hang(self, kind: str) -> None:
        """Do not answer the next request of a kind until released."""

        arrived, released = self.arrived, self.released

        def act(_: "_Handler") -> None:
            arrived.set()
            released.wait(60)

        self.switches.append(Switch(kind, 1, act=act))

    def cut(self, kind: str, sent: bytes = b"") -> None:
        """Close the connection of the next request of a kind, after these bytes."""

        def act(handler: "_Handler") -> None:
            handler.wfile.write(sent)
            handler.wfile.flush()
            handler.connection.close()

        self.switches.append(Switch(kind, 1, act=act))

    def count(self, kind: str) -> int:
        """How many requests of a kind came in."""
        return sum(call.kind == kind for call in self.calls)

    def last(self, kind: str) -> Call:
        """The last request of a kind."""
        return [call for call in self.calls if call.kind == kind][-1]

    @contextmanager
    def run(self) -> Iterator["Front"]:
        """Serve while the test runs."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.released.set()
            self._server.shutdown()
            self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _front(self) -> Front:
        front: Front = self.server.front  # type: ignore[attr-defined]
        return front

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = Call(_kind(self.command, self.path), self.path, headers, body)
        self._front.calls.append(call)
        with suppress(BrokenPipeError, ConnectionResetError, OSError):
            self._react(call)

    do_GET = do_POST = do_DELETE = _handle

    def _react(self, call: Call) -> None:
        switch = next((one for one in self._front.switches if one.kind == call.kind), None)
        if switch is not None:
            switch.times -= 1
            if switch.times == 0:
                self._front.switches.remove(switch)
            if switch.act is not None:
                self.close_connection = True
                switch.act(self)
            else:
                self._send(switch.status, switch.headers, [switch.body])
        elif self._front.upstream is not None:
            self._forward(call)
        else:
            self._answer(call)

    def _forward(self, call: Call) -> None:
        upstream = urlsplit(self._front.upstream or "")
        connection = HTTPConnection(upstream.hostname or "", upstream.port, timeout=120)
        connection.request(self.command, self.path, call.body, dict(call.headers))
        response = connection.getresponse()
        body = response.read()
        connection.close()
        if call.kind == OCR:
            self._front.before_answer()
        self._send(response.status, {"Content-Type": "application/json"}, [body])

    def _answer(self, call: Call) -> None:
        if call.kind == OCR:
            self._front.before_answer()
            self._send(200, {}, self._front.answer())
            return
        made = {
            UPLOAD: {
                "id": "file-1",
                "object": "file",
                "bytes": len(call.body),
                "created_at": 1,
                "filename": "x",
                "purpose": "ocr",
                "sample_type": "ocr_input",
                "source": "upload",
            },
            SIGN: {"url": "https://storage.example/file-1?signature=abc"},
            DELETE: {"id": "file-1", "object": "file", "deleted": True},
        }
        self._send(200, {}, [json.dumps(made[call.kind]).encode()])

    def _send(self, status: int, headers: Mapping[str, str], body: Iterable[bytes]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in body:
            if piece:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        pass


def _kind(method: str, path: str) -> str:
    if path.startswith("/v1/files/"):
        return SIGN if urlsplit(path).path.endswith("/url") else DELETE
    return f"{method} {path}"


def page(markdown: str, *images: Json, index: int = 0) -> Json:
    """A page of the API's answer."""
    return {
        "index": index,
        "markdown": markdown,
        "images": list(images),
        "dimensions": {"dpi": 200, "height": 2200, "width": 1700},
    }


def image(image_id: str, data: str | None) -> Json:
    """An image of the API's answer; `data` is Base64, with its header if it has one."""
    corners = ("top_left_x", "top_left_y", "bottom_right_x", "bottom_right_y")
    return {"id": image_id, **dict.fromkeys(corners, 1), "image_base64": data}


def answer_of(pages: list[Json]) -> bytes:
    """The API's answer."""
    usage = {"pages_processed": len(pages), "doc_size_bytes": 1}
    return json.dumps({"pages": pages, "model": "mistral-ocr-2512", "usage_info": usage}).encode()
