"""Local package index: the simple API (PEP 503 and 691) over real HTTP."""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

JSON = "application/vnd.pypi.simple.v1+json"


@dataclass
class Project:
    """A project of the index. `sent` is the part of the file that is really sent."""

    name: str
    filename: str
    content: bytes
    sent: int | None = None


class PackageIndex:
    """Serves one project at `url` while it is entered. `speaks_json` or, like old ones, HTML."""

    def __init__(self, project: Project, *, speaks_json: bool = True) -> None:
        self.project = project
        self.speaks_json = speaks_json
        self.requests: list[str] = []
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.index = self
        self.url = f"http://127.0.0.1:{self._http.server_port}/simple"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    index: PackageIndex


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        index = self.server.index
        index.requests.append(self.path)
        project = index.project
        if self.path == f"/simple/{project.name}/":
            self._list(project)
        elif self.path == f"/files/{quote(project.filename)}":
            sent = len(project.content) if project.sent is None else project.sent
            self._send("application/octet-stream", project.content, project.content[:sent])
        else:
            self.send_error(404)

    def _list(self, project: Project) -> None:
        # Relative, like most mirrors, and with a hash that must not be trusted.
        link = f"../../files/{quote(project.filename)}"
        if self.server.index.speaks_json and JSON in self.headers["Accept"]:
            files = [{"filename": project.filename, "url": link, "hashes": {}}]
            content = {"meta": {"api-version": "1.1"}, "name": project.name, "files": files}
            self._send(JSON, json.dumps(content).encode())
        else:
            page = f'<html><a href="{link}#sha256=0">{project.filename}</a><a>other</a></html>'
            self._send("text/html", page.encode())

    def _send(self, kind: str, promised: bytes, sent: bytes | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(promised)))
        self.end_headers()
        self.wfile.write(promised if sent is None else sent)

    def log_message(self, *_: Any) -> None:
        pass
