"""HTTP transport: `/mcp`, `/sse` with `/messages/`, and `/health`, of one server.

With MCP_API_KEY set, every path but `/health` requires it as a bearer token, and the server listens
on all interfaces. Without it, only this machine is served.
"""

import hmac
import logging
import os
import socket
from asyncio import CancelledError
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mistral_ocr_mcp.errors import BadSetting

TOKEN, PORT, HOSTS = "MCP_API_KEY", "MISTRAL_OCR_PORT", "QUINION_ALLOWED_HOSTS"
"""Variables of quinion: a server that runs beside quinion's is protected in the same way."""
DEFAULT_PORT = 3006
MAX_PORT = 65_535
LOOPBACK, ALL_INTERFACES = "127.0.0.1", "0.0.0.0"  # noqa: S104 - only with a token
SHUTDOWN_GRACE_S = 2
HEALTH = "/health"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Address:
    """Where to listen, for which host names, and with which token."""

    host: str
    port: int
    token: str = field(repr=False)
    allowed_hosts: tuple[str, ...] = ()


def read_address(
    host: str | None, port: int | None, environment: Mapping[str, str] = os.environ
) -> Address:
    """Combine the options with the variables; port 0 selects a free port.

    Raises:
        BadSetting: the port is invalid.
    """
    token = environment.get(TOKEN, "").strip()
    if port is None:
        port = _read_port(environment.get(PORT, "").strip() or str(DEFAULT_PORT))
    if host is None:
        host = ALL_INTERFACES if token else LOOPBACK
    names = [name.strip() for name in environment.get(HOSTS, "").split(",")]
    return Address(host, port, token, tuple(filter(None, names)))


def serve(server: MCPServer[Any], address: Address) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        BadSetting: the address cannot be listened on.
    """
    if not address.token:
        log.warning("%s is not set: no authentication. Set it to serve the network.", TOKEN)
    with _listen(address) as listener:
        name = LOOPBACK if address.host == ALL_INTERFACES else address.host
        url = f"http://{f'[{name}]' if ':' in name else name}:{listener.getsockname()[1]}"
        print(f"mistral-ocr {url}/mcp   (SSE: {url}/sse, health: {url}{HEALTH})", flush=True)
        logging.getLogger("uvicorn.error").addFilter(_is_not_cancellation)
        config = uvicorn.Config(
            _build_app(server, address),
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=SHUTDOWN_GRACE_S,
        )
        uvicorn.Server(config).run(sockets=[listener])


def _read_port(text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_PORT:
        raise BadSetting(f"{PORT} is not a port: {text!r}. Give a number up to {MAX_PORT}.")
    return int(text)


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or "no such port"
        raise BadSetting(
            f"{address.host}:{address.port} cannot be listened on ({reason}). "
            "Choose another address with --host and --port."
        ) from None
    return listener


def _build_app(server: MCPServer[Any], address: Address) -> ASGIApp:
    security = _security(address)
    streamable = server.streamable_http_app(transport_security=security)
    sse = server.sse_app(transport_security=security)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    app = Starlette(
        routes=[Route(HEALTH, _health), *streamable.routes, *sse.routes], lifespan=lifespan
    )
    return _BearerAuth(app, address.token) if address.token else app


def _security(address: Address) -> TransportSecuritySettings:
    """Accept the names of this machine only: a web page that uses DNS rebinding sends its own."""
    if "*" in address.allowed_hosts:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    names = [LOOPBACK, "localhost", "[::1]", socket.gethostname(), *address.allowed_hosts]
    hosts = [form for name in names for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


class _BearerAuth:
    """ASGI middleware: require the bearer token on every path but `/health`."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == HEALTH or self._is_allowed(scope):
            await self._app(scope, receive, send)
            return
        client = (scope.get("client") or ["unknown"])[0]
        log.warning("authentication failed: %s, %s %r", client, scope["method"], scope["path"])
        message = "Missing or invalid authentication token"
        refusal = JSONResponse(
            {"error": {"code": "unauthorized", "message": message}},
            status_code=401,
            headers={"www-authenticate": "Bearer"},
        )
        await refusal(scope, receive, send)

    def _is_allowed(self, scope: Scope) -> bool:
        given = dict(scope["headers"]).get(b"authorization", b"")
        scheme, _, token = given.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)


def _is_not_cancellation(record: logging.LogRecord) -> bool:
    """Drop cancelled requests from the log: a shutdown with open streams causes them."""
    kind = record.exc_info[0] if record.exc_info else None
    return not (kind is not None and issubclass(kind, CancelledError))
