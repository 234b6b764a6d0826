"""Access to the console: sessions, CSRF, and the security headers of every answer.

Threats: other users of this machine, and web pages of strangers in the user's browser. Without a
token, the address that `quinion serve` prints has a key, which becomes a session cookie once. With
a token, people log in. Everything that changes something carries a CSRF token as well, and comes
from the same origin. Host and Origin are checked before (`servers.http.check_host`).
"""

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quinion.console.rendering import Pages, wants_json
from quinion.console.session import SESSION_S, Sessions
from quinion.console.site import HEALTH

CSRF_HEADER = "x-csrf-token"
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # With `no-referrer`, browsers would send the log-in without its origin.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LOGIN, STATIC = "/login", "/static/"
MAX_TOKEN_BYTES = 10_000


class SecurityHeaders:
    """ASGI middleware: add the security headers; nothing but static files may be cached."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, add)


class Gate:
    """ASGI middleware: only requests with a session pass, and changes only with a CSRF token."""

    def __init__(self, app: ASGIApp, sessions: Sessions, pages: Pages) -> None:
        self._app = app
        self._sessions = sessions
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if scope["type"] != "http" or path == HEALTH or path.startswith(STATIC):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        answer = await self._check(request)
        if answer is None:
            cookie = request.cookies.get(_cookie_name(scope), "")
            scope["quinion.csrf"] = self._sessions.csrf_token(cookie)
            await self._app(scope, receive, send)
        else:
            await answer(scope, receive, send)

    async def _check(self, request: Request) -> Response | None:
        """Return an answer for a request that may not pass."""
        changes = request.method not in {"GET", "HEAD"}
        if changes and not _is_same_origin(request.headers):
            return PlainTextResponse("This request came from another site.", 403)
        if request.url.path == LOGIN:
            return await self._answer_login(request)
        cookie = request.cookies.get(_cookie_name(request.scope), "")
        is_valid = self._sessions.is_valid(cookie)
        if not changes and (key := request.query_params.get("key")) is not None:
            return self._answer_key(request, key, is_valid)
        if not is_valid:
            return self._refuse(request)
        token = request.headers.get(CSRF_HEADER, "")
        if changes and not self._sessions.is_csrf_token(cookie, token):
            return PlainTextResponse("The CSRF token is missing or wrong. Reload the page.", 403)
        return None

    def _answer_key(self, request: Request, key: str, is_valid: bool) -> Response:
        cookie = self._sessions.redeem_key(key)
        if cookie is None and not is_valid:
            return self._refuse(request)
        rest = [pair for pair in parse_qsl(request.url.query) if pair[0] != "key"]
        target = request.url.path + (f"?{urlencode(rest)}" if rest else "")
        # Not a redirect: coming from another site, browsers would withhold the new cookie.
        answer = HTMLResponse(self._pages.render("entered.html", target=target))
        if cookie is not None:
            _set_cookie(request, answer, cookie)
        return answer

    async def _answer_login(self, request: Request) -> Response:
        target = _local(request.query_params.get("next", "/"))
        if request.method == "POST":
            token = await _read_token(request)
            if cookie := self._sessions.log_in(token):
                answer: Response = RedirectResponse(target, 303)
                _set_cookie(request, answer, cookie)
                return answer
            failed = True
        else:
            failed = False
        status = 401 if failed else 200
        login = self._pages.render(
            "login.html", failed=failed, has_token=self._sessions.has_token, target=target
        )
        return HTMLResponse(login, status)

    def _refuse(self, request: Request) -> Response:
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        target = f"{LOGIN}?{urlencode({'next': path})}"
        if request.headers.get("hx-request"):
            return Response(status_code=401, headers={"HX-Redirect": LOGIN})
        if wants_json(request) or request.method != "GET":
            return PlainTextResponse("Log in first, or open the address of quinion open.", 401)
        if self._sessions.has_token:
            return RedirectResponse(target, 303)
        return HTMLResponse(self._pages.render("login.html", has_token=False, failed=False), 403)


def _is_same_origin(headers: Headers) -> bool:
    """Whether the browser says that a change comes from a page of the console.

    `check_host` has compared the names only: another port is another origin.
    """
    if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host", "")


def _local(target: str) -> str:
    """Return a path of the console; what leads elsewhere becomes the first page."""
    is_local = target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if is_local and target.isprintable() else "/"


async def _read_token(request: Request) -> str:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_TOKEN_BYTES:
            return ""
    return dict(parse_qsl(body.decode(errors="replace"))).get("token", "").strip()


def _cookie_name(scope: Scope) -> str:
    """Name the cookie by the port: cookies of all ports of a host are sent to each of them."""
    port = (scope.get("server") or ("", 0))[1]
    return f"quinion-{port}"


def _set_cookie(request: Request, answer: Response, cookie: str) -> None:
    answer.set_cookie(
        _cookie_name(request.scope),
        cookie,
        max_age=int(SESSION_S),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
