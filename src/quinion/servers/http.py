"""HTTP transport: `/health`, `/metrics`, `/sse` with `/messages/`, and `/mcp`.

`build_app` creates the ASGI app of one server. `serve` runs several apps in one process on one
event loop, each on its own port, with one shared engine.
"""

import contextlib
import logging
import re
import resource
import signal
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from quinion.concurrency import in_thread
from quinion.errors import BadSetting
from quinion.servers.auth import OPEN_PATHS, BearerAuth, Wording
from quinion.servers.http_limits import BodyTimeout, HeadTimeoutProtocol
from quinion.settings import Settings
from quinion.telemetry.metrics import CONTENT_TYPE, Source, render

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
ALL_INTERFACES = "0.0.0.0"  # noqa: S104 - only with a token, or when the user names it
SHUTDOWN_GRACE_S = 2
BACKLOG = 512
MAX_CONNECTIONS = 1_000
"""Per server. Further connections get a 503 and may be retried."""
OTHER_OPEN_FILES = 500
"""Files open besides connections: the store, workers, documents."""
MAX_SESSIONS = 2_000
"""Per server. A session that its client does not close takes some 40 kB until it times out."""
SESSION_IDLE_S = 30 * 60
KEEP_ALIVE_S = 30
"""Longer than clients keep an idle connection (httpx: five seconds, also uvicorn's default), so
that the client closes it first. A request sent while the server closes would be lost."""

OnReady = Callable[[dict[str, str]], Coroutine[Any, Any, None]]
"""Receives the address of each server, by server name."""


@dataclass(frozen=True, slots=True)
class Site:
    """ASGI app and its listening address. Port 0 selects a free port.

    If the port of an `optional` site is in use, the others are served without it.
    """

    name: str
    app: ASGIApp
    host: str
    port: int
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """MCP server and its listening address. Port 0 selects a free port."""

    name: str
    server: MCPServer[Any]
    wording: Wording
    host: str
    port: int
    metrics: Source = tuple


def choose_host(settings: Settings, host: str | None) -> str:
    """Choose the address: the user's, else all interfaces with a token, else loopback only."""
    if host is not None:
        return host
    if settings.api_key is not None:
        return ALL_INTERFACES
    log.warning(
        "MCP_API_KEY is not set: no authentication, so only this machine is served (%s). "
        "Set a token to serve the network.",
        LOOPBACK,
    )
    return LOOPBACK


def build_app(
    server: MCPServer[Any], settings: Settings, wording: Wording, metrics: Source = tuple
) -> ASGIApp:
    """Build the ASGI app of one server, with authentication and Host and Origin checks."""

    security = _transport_security(settings)
    streamable = server.streamable_http_app(
        transport_security=security,
        max_sessions=MAX_SESSIONS,
        session_idle_timeout=SESSION_IDLE_S,
    )
    sse = server.sse_app(transport_security=security)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    for route in sse.routes:
        if isinstance(route, Route) and route.methods:
            # Starlette adds HEAD to GET, but the SDK's SSE stream fails without a body.
            route.methods.discard("HEAD")
    app = Starlette(
        routes=[
            Route("/health", _health),
            make_metrics_route(metrics),
            *streamable.routes,
            *sse.routes,
        ],
        lifespan=lifespan,
    )
    guarded = check_host(app, settings)
    if settings.api_key is None:
        return guarded
    return BearerAuth(guarded, settings.api_key.get_secret_value(), wording)


def make_metrics_route(metrics: Source) -> Route:
    """Build the route of the metrics."""

    async def show_metrics(_: Request) -> Response:
        text = await in_thread(lambda: render(metrics()))
        return Response(text, media_type=CONTENT_TYPE)

    return Route("/metrics", show_metrics)


def check_host(app: ASGIApp, settings: Settings) -> ASGIApp:
    """Wrap the app to reject requests whose Host or Origin is not an allowed name."""
    return app if "*" in settings.allowed_hosts else _HostCheck(app, _allowed_names(settings))


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def _allowed_names(settings: Settings) -> list[str]:
    """List the host names of this machine that are accepted. A web page that uses DNS rebinding
    sends its own name as Host and is rejected."""
    return [LOOPBACK, "localhost", "[::1]", socket.gethostname(), *settings.allowed_hosts]


def _transport_security(settings: Settings) -> TransportSecuritySettings:
    """Build the same rules for the SDK, whose check accepts any port text after `name:`."""
    if "*" in settings.allowed_hosts:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = [form for name in _allowed_names(settings) for form in (name, f"{name}:*")]
    return TransportSecuritySettings(
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")],
    )


class _HostCheck:
    """ASGI middleware: reject requests with an unknown name in Host or Origin."""

    def __init__(self, app: ASGIApp, names: Sequence[str]) -> None:
        self._app = app
        self._host = re.compile(rf"({'|'.join(map(re.escape, names))})(:\d{{1,5}})?", re.IGNORECASE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            refusal = self._check(Headers(scope=scope))
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, headers: Headers) -> Response | None:
        host, origin = headers.get("host", ""), headers.get("origin", "")
        if not self._host.fullmatch(host):
            log.warning("rejected Host %r: to allow it, set QUINION_ALLOWED_HOSTS", host)
            return PlainTextResponse("Invalid Host header", 421)
        scheme, _, name = origin.partition("://")
        if origin and not (scheme in {"http", "https"} and self._host.fullmatch(name)):
            log.warning("rejected Origin %r: to allow it, set QUINION_ALLOWED_HOSTS", origin)
            return PlainTextResponse("Invalid Origin header", 403)
        return None


async def serve(
    endpoints: Sequence[Endpoint],
    settings: Settings,
    on_ready: OnReady,
    more: Sequence[Site] = (),
) -> None:
    """Serve MCP servers and `more` sites until SIGINT or SIGTERM; see `serve_sites`."""
    sites = [
        Site(
            one.name, build_app(one.server, settings, one.wording, one.metrics), one.host, one.port
        )
        for one in endpoints
    ]
    await serve_sites([*more, *sites], on_ready)


async def serve_sites(sites: Sequence[Site], on_ready: OnReady) -> None:
    """Serve until SIGINT or SIGTERM; `on_ready` receives the address of each server.

    Raises:
        BadSetting: a port is already in use.
    """
    _raise_open_file_limit(len(sites) * MAX_CONNECTIONS + OTHER_OPEN_FILES)
    logging.getLogger("uvicorn.error").addFilter(_is_not_cancellation)
    logging.getLogger("mcp.server.sse").addFilter(_drop_traceback)
    with contextlib.ExitStack() as stack:
        running = []
        addresses = {}
        for site in sites:
            try:
                listener = stack.enter_context(_listen(site))
            except BadSetting as error:
                if not site.optional:
                    raise
                log.warning("%s Served without it.", error)
                continue
            running.append((_Uvicorn(_config(site.app)), listener))
            addresses[site.name] = _address(site.host, listener)
        servers = [server for server, _ in running]
        async with anyio.create_task_group() as group:
            group.start_soon(_stop_on_signal, servers)
            async with anyio.create_task_group() as serving:
                for server, listener in running:
                    serving.start_soon(_run, server, listener, servers)
                for server in servers:
                    await server.ready.wait()
                group.start_soon(on_ready, addresses)
            group.cancel_scope.cancel()


def _raise_open_file_limit(count: int) -> None:
    """Raise the limit on open files: with the usual 1,024, connections would use up the files
    that the store needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


async def _run(server: "_Uvicorn", listener: socket.socket, servers: Sequence["_Uvicorn"]) -> None:
    await server.serve(sockets=[listener])
    # Stop the others gracefully too: cancelling a server leaves its clients hanging.
    _stop(servers)


async def _stop_on_signal(servers: Sequence["_Uvicorn"]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            _stop(servers)


def _stop(servers: Sequence["_Uvicorn"]) -> None:
    for server in servers:
        server.should_exit = True


class _Uvicorn(uvicorn.Server):
    """uvicorn server that leaves signals to `serve_sites` and signals when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = anyio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


def _is_not_cancellation(record: logging.LogRecord) -> bool:
    """Drop cancelled requests from the log: a shutdown with open streams causes them."""
    kind = record.exc_info[0] if record.exc_info else None
    return not (kind is not None and issubclass(kind, anyio.get_cancelled_exc_class()))


def _drop_traceback(record: logging.LogRecord) -> bool:
    """Drop the traceback, which repeats the invalid message that a client sent."""
    record.exc_info = None
    return True


class _TrimmedHeaders:
    """ASGI middleware: strip trailing whitespace from header values (RFC 9110, 5.5).

    httptools, uvicorn's parser, leaves it in place.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
            scope = {**scope, "headers": headers}
        await self._app(scope, receive, send)


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        _TrimmedHeaders(BodyTimeout(app)),
        http=HeadTimeoutProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_GRACE_S,
        lifespan="on",
    )


def _listen(site: Site) -> socket.socket:
    family = socket.AF_INET6 if ":" in site.host else socket.AF_INET
    # With an explicit protocol asyncio disables Nagle's algorithm, which would add 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((site.host, site.port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else "no such port"
        raise BadSetting(
            f"{site.name} cannot listen on {site.host}:{site.port} "
            f"({reason}). Stop what uses that port, or choose another with --port."
        ) from error
    return listener


def _address(host: str, listener: socket.socket) -> str:
    port = listener.getsockname()[1]
    name = LOOPBACK if host == ALL_INTERFACES else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"
