"""The key in front of the API: the same token as for the other servers, in Mistral's words."""

import hmac

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from quinion.servers.auth import OPEN_PATHS

SIGNED_PREFIX = "/signed/"
"""Signed addresses carry their own proof, as those of the cloud do."""


class KeyCheck:
    """Lets through requests with the key; any request where none is set."""

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
