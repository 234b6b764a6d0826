"""Logs as text or JSON, with the id of the request that a line belongs to.

`requests` is the logger of the request log: one line for each call of a tool. Servers enable it.
Arguments and answers of calls are never logged, because they have the text of documents.
"""

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from secrets import token_hex
from typing import TextIO

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
NOISY = ("httpx", "httpx2", "chromadb", "mcp", "uvicorn", "watchfiles")
MAX_LOG_BYTES = 1 << 20
OLD_LOGS = 3

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
requests = logging.getLogger("quinion.requests")


@contextmanager
def new_request() -> Iterator[str]:
    """Set the id of a request for the log lines within the block."""
    token = REQUEST_ID.set(token_hex(4))
    try:
        yield REQUEST_ID.get()
    finally:
        REQUEST_ID.reset(token)


def log_call(client: str, server: str, tool: str, outcome: str, duration_s: float) -> None:
    """Write a line to the request log; the client's name is quoted, because it chose it."""
    duration_ms = round(1_000 * duration_s, 1)
    fields = {"client": client, "server": server, "tool": tool, "outcome": outcome}
    requests.info(
        "%s %s by %r: %s in %.1f ms",
        server,
        tool,
        client,
        outcome,
        duration_ms,
        extra={"fields": {**fields, "duration_ms": duration_ms}},
    )


def configure(level: str, style: str, *, log_requests: bool, file: Path | None = None) -> None:
    """Log to stderr, or to a file that is rotated. Replaces an earlier configuration.

    `style` is one of `FORMATS`.
    """
    handler: logging.Handler = CurrentStderr() if file is None else _Log(file)
    text = TextFormatter("%(levelname)s %(name)s: %(message)s", dated=file is not None)
    handler.setFormatter(JsonFormatter() if style == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for noisy in NOISY:
        logging.getLogger(noisy).setLevel(max(logging.WARNING, logging.root.level))
    requests.setLevel(logging.NOTSET if log_requests else logging.WARNING)


class TextFormatter(logging.Formatter):
    """Formatter for people: one line, with the request id at its end."""

    def __init__(self, style: str, *, dated: bool) -> None:
        super().__init__(f"%(asctime)s {style}" if dated else style)

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Add the id of the current request."""
        request = REQUEST_ID.get()
        return super().formatMessage(record) + (f" [request {request}]" if request else "")


class JsonFormatter(logging.Formatter):
    """Formatter for programs: one JSON object in each line."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record; the fields of the request log are fields of the object."""
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if request := REQUEST_ID.get():
            entry["request_id"] = request
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


class CurrentStderr(logging.StreamHandler[TextIO]):
    """Log handler that writes to what `sys.stderr` is at that moment.

    While a command shows progress bars, this prints above them.
    """

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr


class _Log(RotatingFileHandler):
    """Rotated log file; stderr, which child processes inherit, follows it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=MAX_LOG_BYTES, backupCount=OLD_LOGS, encoding="utf-8")
        self._redirect_stderr()

    def doRollover(self) -> None:
        """Start a new file."""
        super().doRollover()
        self._redirect_stderr()

    def _redirect_stderr(self) -> None:
        if self.stream is not None:
            os.dup2(self.stream.fileno(), 2)
