"""HTTP client for JSON services such as embedding and vision servers. Thread-safe.

A user waits for the answer, so one timeout covers a request with all its retries. Transient
failures are retried: an overloaded or starting server, a dropped connection. Permanent ones are
not: a refused connection, an error status, no answer.

Errors are raised without their cause: the frames of the HTTP library hold the API key, an answer
may repeat it, and some handlers print both.

Accepted risk: a server that sends its headers one byte at a time is not cut off by the timeout.
"""

import ipaddress
import json
import re
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, TypeVar

import httpx2
from pydantic import BaseModel, SecretStr, ValidationError

from quinion.errors import BadSetting, QuinionError

CONNECT_S = 5.0
PAUSES_S = (0.25, 0.5)
"""Delays before the second and third attempt, unless the server asks for longer ones."""

MAX_ANSWER_BYTES = 64 << 20
"""Answers above this limit are rejected; thirty-two vectors take three million at most."""

_MAX_MESSAGE = 300
_RETRIED = {
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}
_BROKEN = (
    httpx2.ReadError,
    httpx2.WriteError,
    httpx2.CloseError,
    httpx2.RemoteProtocolError,
)

Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Service:
    """A server in error messages: its name, its settings, and the error type to raise."""

    name: str
    host_variable: str
    error: type[QuinionError]
    key_variable: str = ""
    timeout_variable: str = ""

    def retry_advice(self) -> str:
        """Advice for a slow server."""
        if not self.timeout_variable:
            return "try again"
        return f"try again, or raise {self.timeout_variable}"


class Refused(Exception):
    """The server answered with an error status."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"{status} {words}")
        self.status = status
        self.words = words
        """The server's error message; empty if there is none."""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    content: bytes = field(repr=False)
    media_type: str
    retry_after_s: float


class JsonClient:
    """Client of one JSON server. `where` names the server in messages."""

    def __init__(
        self,
        service: Service,
        address: httpx2.URL,
        timeout_s: float,
        api_key: SecretStr | None = None,
    ) -> None:
        """Raises `BadSetting` for a key that is not a valid header."""
        _check_key(api_key, service)
        bare = address.copy_with(userinfo=b"")
        self.where = f"{service.name} at {str(bare).rstrip('/')}"
        self._service = service
        self._timeout_s = timeout_s
        self._api_key = api_key
        self._http = httpx2.Client(
            base_url=bare,
            headers={"Authorization": f"Bearer {api_key.get_secret_value()}"} if api_key else {},
            auth=(address.username, address.password) if address.userinfo else None,
            # Proxies from the environment cannot reach this machine.
            trust_env=not _is_this_machine(address.host),
        )
        weakref.finalize(self, self._http.close)

    def ask(self, method: str, path: str, shape: type[Shape], body: object = None) -> Shape:
        """Send one request and parse the answer.

        Raises:
            Refused: the server answers with a status other than 200.
            QuinionError: the service's error type; no answer, or an invalid one.
        """
        answer = self._send(method, path, body)
        if answer.status != HTTPStatus.OK:
            raise Refused(answer.status, self._redact(_error_message(answer.content)))
        with suppress(ValidationError):
            return shape.model_validate_json(answer.content)
        raise self._service.error(
            f"{self.where} sent an unexpected answer: what came from /{path} is "
            f"{answer.media_type or 'something'} of another shape, or was cut off. Set "
            f"{self._service.host_variable} to the right address."
        )

    def _send(self, method: str, path: str, body: object) -> _Answer:
        deadline = time.monotonic() + self._timeout_s
        for pause_s in (*PAUSES_S, None):
            answer = self._try(method, path, body, deadline)
            if answer and answer.status not in _RETRIED:
                return answer
            wait_s = max(pause_s or 0, answer.retry_after_s if answer else 0)
            if pause_s is None or time.monotonic() + wait_s >= deadline:
                break
            time.sleep(wait_s)
        if answer is None:
            raise self._service.error(
                f"{self.where} closed the connection before its answer was complete. Check its "
                "log and try again."
            )
        return answer

    def _try(self, method: str, path: str, body: object, deadline: float) -> _Answer | None:
        """Make one attempt; None if the connection broke."""
        host = self._service.host_variable
        try:
            return self._exchange(method, path, body, deadline)
        except _BROKEN:
            return None
        except httpx2.ConnectTimeout:
            problem = f"{self.where} cannot be reached. Check {host}, and the network."
        except httpx2.TimeoutException:
            problem = (
                f"{self.where} did not answer within {self._timeout_s:g} seconds. It may be "
                f"loading its model: {self._service.retry_advice()}."
            )
        except httpx2.ConnectError as error:
            problem = (
                f"{self.where} cannot be reached: {error}. Start it, or set {host} to where it "
                "listens."
            )
        except httpx2.HTTPError as error:
            problem = f"{self.where} cannot be used ({type(error).__name__}). Check {host}."
        raise self._service.error(problem)

    def _exchange(self, method: str, path: str, body: object, deadline: float) -> _Answer:
        left_s = max(deadline - time.monotonic(), 0.001)
        timeout = httpx2.Timeout(left_s, connect=min(CONNECT_S, left_s))
        content = bytearray()
        with self._http.stream(method, path, json=body, timeout=timeout) as response:
            for part in response.iter_bytes():
                content += part
                if len(content) > MAX_ANSWER_BYTES:
                    raise self._service.error(
                        f"{self.where} sent an answer that is too large. Set "
                        f"{self._service.host_variable} to the right address."
                    )
                if time.monotonic() > deadline:
                    raise httpx2.ReadTimeout("the answer takes too long")
            return _Answer(
                response.status_code,
                bytes(content),
                response.headers.get("Content-Type", "").partition(";")[0],
                _read_retry_after(response.headers.get("Retry-After", "")),
            )

    def _redact(self, words: str) -> str:
        """Remove the API key, which some servers repeat."""
        if not self._api_key:
            return words
        return words.replace(self._api_key.get_secret_value(), "(the key)")


def parse_address(host: str, variable: str) -> httpx2.URL:
    """Parse the address in a setting. A login in it is never shown.

    Raises:
        BadSetting: the address is invalid.
    """
    try:
        address = httpx2.URL(host)
    except httpx2.InvalidURL:
        address = httpx2.URL("")
    if address.scheme not in {"http", "https"} or not address.host or address.query:
        raise BadSetting(
            f"{variable} is not an address. It looks like http://localhost:11434: correct it and "
            "restart."
        )
    return address.copy_with(path=address.path.rstrip("/"), fragment=None)


def complete_openai(address: httpx2.URL, endpoint: str) -> httpx2.URL:
    """Return the base URL of OpenAI's API; a bare host means `/v1`."""
    path = address.path.removesuffix(f"/{endpoint}").rstrip("/")
    return address.copy_with(path=path or "/v1")


def _check_key(api_key: SecretStr | None, service: Service) -> None:
    """Reject a key that is not a valid header: the HTTP library would put it into its error."""
    if api_key and not re.fullmatch(r"[!-~]+", api_key.get_secret_value()):
        raise BadSetting(f"{service.key_variable} contains invalid characters. Copy it again.")


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read_retry_after(value: str) -> float:
    """Parse a number of seconds or a date; 0 if it is neither."""
    try:
        if value.isdecimal():
            return float(value)
        return parsedate_to_datetime(value).timestamp() - time.time()
    except ValueError:
        return 0.0


def _error_message(content: bytes) -> str:
    """Extract the error message, in the formats of Ollama, OpenAI and FastAPI."""
    try:
        found: Any = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    for key in ("error", "message", "detail"):
        if isinstance(found, dict) and key in found:
            found = found[key]
    return " ".join(found.split())[:_MAX_MESSAGE] if isinstance(found, str) else ""
