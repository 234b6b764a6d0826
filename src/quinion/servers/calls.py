"""Observation of calls: metrics, the request log, and the request id in failed answers.

It is middleware of the MCP SDK, so it sees every call over HTTP, stdio and the engine's socket.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext

from quinion.telemetry.logs import log_call, new_request
from quinion.telemetry.metrics import CallMetrics

REQUEST_ID_KEY = "quinion/request_id"
"""Key in `_meta` of a failed answer. The request log and other log lines have the same id."""
UNKNOWN_TOOL = "unknown"
"""Label of tools that do not exist: clients may not add labels."""
SHOWN_CHARACTERS = 100
CANCELLED, FAILED = "cancelled", "protocol_error"


class CallObserver(ServerMiddleware[Any]):
    """Middleware that counts and logs the calls of a server's tools."""

    def __init__(self, metrics: CallMetrics, is_known: Callable[[str], bool]) -> None:
        self._metrics = metrics
        self._is_known = is_known

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Pass a message on; observe it if it calls a tool."""
        if ctx.method != "tools/call":
            return await call_next(ctx)
        name = str((ctx.params or {}).get("name"))
        tool = name if self._is_known(name) else UNKNOWN_TOOL
        error, started = CANCELLED, perf_counter()
        self._metrics.active += 1
        with new_request() as request_id:
            try:
                result = await call_next(ctx)
                error = find_error(result)
                return _add_request_id(result, request_id) if error else result
            except Exception:
                error = FAILED
                raise
            finally:
                duration_s = perf_counter() - started
                self._metrics.active -= 1
                self._metrics.observe(tool, error, duration_s)
                log_call(_name_client(ctx), self._metrics.server, tool, error or "ok", duration_s)


def find_error(result: HandlerResult) -> str:
    """Return the error code of an answer in the format of any contract; empty if it succeeded.

    `result` is what goes over the wire: the SDK serializes answers before middleware sees them.
    """
    if not isinstance(result, dict):
        return ""
    answer = result.get("structuredContent")
    fields = answer if isinstance(answer, dict) else {}
    if result.get("isError") or fields.get("status") == "error" or fields.get("success") is False:
        return str(fields.get("error_type") or fields.get("error_code") or "error").lower()
    texts = (part["text"] for part in result.get("content", ()) if part.get("type") == "text")
    return "error" if next(texts, "").startswith("Error: ") else ""


def _add_request_id(result: HandlerResult, request_id: str) -> HandlerResult:
    assert isinstance(result, dict)
    return {**result, "_meta": {**(result.get("_meta") or {}), REQUEST_ID_KEY: request_id}}


def _name_client(ctx: ServerRequestContext[Any, Any]) -> str:
    """Name the client by what it calls itself, and its address over HTTP."""
    params = ctx.session.client_params
    info = params.client_info if params else None
    name = f"{info.name} {info.version}".strip() if info else "unknown"
    client = getattr(ctx.request, "client", None)
    return name[:SHOWN_CHARACTERS] + (f" ({client.host})" if client else "")
