"""API key check: the token of the other servers, with the errors of Mistral's API."""

import hmac

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from quinion.servers.auth import OPEN_PATHS

SIGNED_PREFIX = "/signed/"
"""Path prefix of signed URLs, which need no key, as in Mistral's cloud."""


class KeyCheck:
    """Middleware that rejects requests without the key; accepts all if no key is configured."""

    def __init__(self, app: ASGIApp, key: str | None) -> None:
        self._app = app
        self._key = None if key is None else key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._may_pass(scope):
            await self._app(scope, receive, send)
        else:
            await JSONResponse({"detail": "Unauthorized"}, 401)(scope, receive, send)

    def _may_pass(self, scope: Scope) -> bool:
        path = scope["path"]
        if self._key is None or path in OPEN_PATHS or path.startswith(SIGNED_PREFIX):
            return True
        header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        scheme, _, key = header.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(key.strip(), self._key)
