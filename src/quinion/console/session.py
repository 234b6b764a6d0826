"""Sessions of the console: one-time keys, the log-in with a token, cookies and CSRF tokens.

Keys and cookies are signed, so the server stores nothing about them, and a session survives a
restart. The signing secret is a file in the home that only its owner can read, who
can read the documents as well. The token is part of the signing key, so a new token ends all
sessions.

Accepted risk: browsers send a cookie to every port of a host, so another server on this machine
that the user visits under the same host name receives it.
"""

import base64
import hashlib
import hmac
import os
import secrets
import time
from pathlib import Path

from quinion.errors import BadSetting

SECRET_NAME = "engine.console"  # noqa: S105 - the prefix keeps it out of backups
KEY_S = 24 * 3600.0
"""How long a key that was not used can be used."""
SESSION_S = 7 * 24 * 3600.0
_SECRET_BYTES = 32


class Sessions:
    """Issues and checks keys, cookies and CSRF tokens of one home."""

    def __init__(self, home: Path, token: str | None) -> None:
        """Read the secret of the home, or create it.

        Raises:
            BadSetting: the home cannot be read or written.
        """
        self._token = token
        self._key = hmac.digest(_read_secret(home), (token or "").encode(), hashlib.sha256)
        self._started = time.time()
        self._used: dict[str, float] = {}

    @property
    def has_token(self) -> bool:
        """Whether people log in with a token instead of a key."""
        return self._token is not None

    def make_key(self) -> str:
        """Make a key that can be exchanged for a session, once."""
        return self._sign("key", KEY_S)

    def redeem_key(self, key: str) -> str | None:
        """Exchange a key for a session cookie; None if it is invalid, too old or was used.

        A key from before this process started is invalid: whether it was used is not known.
        """
        issued = self._check("key", key)
        now = time.time()
        self._used = {used: until for used, until in self._used.items() if until > now}
        # Another process, `quinion open`, makes keys as well; clocks have a limited resolution.
        if self.has_token or issued is None or issued < int(self._started) or key in self._used:
            return None
        self._used[key] = now + KEY_S
        return self._sign("session", SESSION_S)

    def log_in(self, token: str) -> str | None:
        """Exchange the token for a session cookie; None if it is wrong."""
        if self._token is None or not hmac.compare_digest(token.encode(), self._token.encode()):
            return None
        return self._sign("session", SESSION_S)

    def is_valid(self, cookie: str) -> bool:
        """Whether a cookie is a session that has not expired."""
        return self._check("session", cookie) is not None

    def csrf_token(self, cookie: str) -> str:
        """The token that each change in this session must carry."""
        return _encode(hmac.digest(self._key, f"csrf {cookie}".encode(), hashlib.sha256))

    def is_csrf_token(self, cookie: str, token: str) -> bool:
        """Whether a change carries the token of its session."""
        return hmac.compare_digest(self.csrf_token(cookie).encode(), token.encode())

    def _sign(self, kind: str, lifetime_s: float) -> str:
        issued = int(time.time())
        text = f"{issued}.{int(issued + lifetime_s)}.{secrets.token_urlsafe(16)}"
        return f"{text}.{self._signature(kind, text)}"

    def _check(self, kind: str, signed: str) -> int | None:
        """Return when it was issued; None if it is invalid or has expired."""
        text, _, signature = signed.rpartition(".")
        if not hmac.compare_digest(self._signature(kind, text).encode(), signature.encode()):
            return None
        issued, expires, _ = text.split(".")
        return int(issued) if time.time() < int(expires) else None

    def _signature(self, kind: str, text: str) -> str:
        return _encode(hmac.digest(self._key, f"{kind} {text}".encode(), hashlib.sha256))


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _read_secret(home: Path) -> bytes:
    """Read the secret; create it, complete or not at all, if there is none."""
    path = home / SECRET_NAME
    try:
        if not path.exists():
            scratch = home / f"{SECRET_NAME}-{os.getpid()}-{secrets.token_hex(4)}"
            descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(_SECRET_BYTES))
            try:
                os.link(scratch, path)  # the first of several processes wins
            except FileExistsError:
                pass
            finally:
                scratch.unlink()
        secret = path.read_bytes()
    except OSError as error:
        raise BadSetting(f"{path} cannot be read or written ({error.strerror}).") from error
    if len(secret) != _SECRET_BYTES:
        raise BadSetting(f"{path} is damaged. Delete it; everyone has to open the console again.")
    return secret
