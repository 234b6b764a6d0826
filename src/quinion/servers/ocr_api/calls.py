"""Observation of requests: metrics, the request log, and the request id in failed answers."""

import re
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quinion.servers.ocr_api.auth import SIGNED_PREFIX
from quinion.telemetry.logs import log_call, new_request
from quinion.telemetry.metrics import CallMetrics

REQUEST_ID_HEADER = "x-request-id"
"""Header of a failed answer. The request log and other log lines have the same id."""
CANCELLED, FAILED = "cancelled", "500"
CLIENT_CLOSED_REQUEST = 499
"""Non-standard status for a disconnected client; it appears only in logs."""
SHOWN_CHARACTERS = 100

_OPERATIONS = (
    ("POST", re.compile("/v1/ocr"), "ocr"),
    ("POST", re.compile("/v1/files"), "upload_file"),
    ("GET", re.compile("/v1/files/[^/]+/url"), "sign_url"),
    ("GET", re.compile("/v1/files/[^/]+"), "describe_file"),
    ("DELETE", re.compile("/v1/files/[^/]+"), "delete_file"),
    ("GET", re.compile(re.escape(SIGNED_PREFIX) + "[^/]+"), "download_file"),
)
"""What counts as a call, in place of the tools of an MCP server."""


class RequestObserver:
    """Middleware that counts and logs the requests of the API."""

    def __init__(self, app: ASGIApp, metrics: CallMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = _name_operation(scope)
        if not operation:
            await self._app(scope, receive, send)
            return
        error, started = CANCELLED, perf_counter()
        self._metrics.active += 1
        with new_request() as request_id:

            async def send_observed(message: Message) -> None:
                nonlocal error
                if message["type"] == "http.response.start":
                    error = _find_error(message["status"])
                    if error:
                        MutableHeaders(scope=message)[REQUEST_ID_HEADER] = request_id
                await send(message)

            try:
                await self._app(scope, receive, send_observed)
            except Exception:
                error = FAILED
                raise
            finally:
                duration_s = perf_counter() - started
                self._metrics.active -= 1
                self._metrics.observe(operation, error, duration_s)
                outcome = error or "ok"
                log_call(_name_client(scope), self._metrics.server, operation, outcome, duration_s)


def _name_operation(scope: Scope) -> str:
    if scope["type"] != "http":
        return ""
    return next(
        (
            name
            for method, path, name in _OPERATIONS
            if scope["method"] == method and path.fullmatch(scope["path"])
        ),
        "",
    )


def _find_error(status: int) -> str:
    """Return the error code: the status, because not every error body has one."""
    if status == CLIENT_CLOSED_REQUEST:
        return CANCELLED
    return str(status) if status >= 400 else ""  # noqa: PLR2004


def _name_client(scope: Scope) -> str:
    """Name the client by what it calls itself, and its address."""
    name = Headers(scope=scope).get("user-agent", "unknown")
    client = scope.get("client")
    return name[:SHOWN_CHARACTERS] + (f" ({client[0]})" if client else "")
