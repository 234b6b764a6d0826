"""Raw requests over sockets that no HTTP client would send, with their durations."""

import re
import socket
import time
from contextlib import suppress
from dataclasses import dataclass

from tests.contract.process import HttpServer
from tests.doors.house import TOKEN

PATIENCE_S = 20.0


@dataclass(frozen=True)
class Outcome:
    """Statuses of all answers on one connection, and whether the server closed it."""

    statuses: tuple[int, ...]
    is_ended: bool
    text: str


def head(server: HttpServer, request: str, *headers: str, token: str = TOKEN) -> bytes:
    """Return the head of an authorised request, without the final empty line."""
    host = server.address.removeprefix("http://")
    lines = [f"{request} HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {token}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n"


def connect(server: HttpServer) -> socket.socket:
    host, _, port = server.address.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)), PATIENCE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def send(server: HttpServer, data: bytes, quiet_s: float = 0.3) -> Outcome:
    """Send data, and read until the server closes the connection or is silent."""
    with connect(server) as connection:
        with suppress(OSError):  # it may have closed the connection
            connection.sendall(data)
        return listen(connection, quiet_s)


def listen(connection: socket.socket, quiet_s: float) -> Outcome:
    """Read until the server closes the connection or is silent."""
    said = b""
    is_ended = False
    connection.settimeout(quiet_s)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            part = connection.recv(1 << 16)
        except TimeoutError:
            break
        except OSError:
            is_ended = True
            break
        if not part:
            is_ended = True
            break
        said += part
    statuses = tuple(int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", said))
    return Outcome(statuses, is_ended, said.decode(errors="replace"))
