"""Bearer-token authentication for the HTTP endpoints.

It is plain ASGI middleware, so streaming responses pass through unbuffered. Each server
contract words its own 401 messages and passes them in.
"""

import hmac
import json
import logging
from collections.abc import Callable
from enum import Enum

from starlette.types import ASGIApp, Receive, Scope, Send

log = logging.getLogger(__name__)

OPEN_PATHS = frozenset({"/health"})


class Refusal(Enum):
    """Reason why a request was rejected."""

    NO_HEADER = "no Authorization header"
    WRONG_SCHEME = "a scheme other than Bearer"
    WRONG_TOKEN = "a wrong token"  # noqa: S105


Wording = Callable[[Refusal], str]


class BearerAuth:
    """ASGI middleware: require the bearer token on every path but `/health`."""

    def __init__(self, app: ASGIApp, token: str, wording: Wording) -> None:
        self._app = app
        self._token = token.encode()
        self._wording = wording

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        refusal = self._check(scope)
        if refusal is None:
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        # %r, because a path may contain line breaks that would forge log lines.
        log.warning(
            "authentication failed (%s): client %s, %s %r",
            refusal.value,
            client[0] if client else "unknown",
            scope["method"],
            scope["path"],
        )
        await _send_401(send, self._wording(refusal))

    def _check(self, scope: Scope) -> Refusal | None:
        header = next((value for name, value in scope["headers"] if name == b"authorization"), None)
        if header is None:
            return Refusal.NO_HEADER
        scheme, _, token = header.partition(b" ")
        if scheme.lower() != b"bearer":
            return Refusal.WRONG_SCHEME
        return None if hmac.compare_digest(token.strip(), self._token) else Refusal.WRONG_TOKEN


async def _send_401(send: Send, message: str) -> None:
    body = json.dumps({"error": {"code": "unauthorized", "message": message}}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"www-authenticate", b"Bearer"),
    ]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})
