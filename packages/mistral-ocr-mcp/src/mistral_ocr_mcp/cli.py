"""Command line `mistral-ocr-mcp`: runs the server on stdio, or on HTTP with `--http`."""

import argparse
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mistral_ocr_mcp import __version__
from mistral_ocr_mcp.errors import BadSetting
from mistral_ocr_mcp.settings import read_settings

NO_WINDOWS = (
    "Windows is not supported, because its folders cannot be held open. Run it in WSL "
    "(wsl --install) or in a Docker container."
)
if TYPE_CHECKING:
    from mistral_ocr_mcp.server import OcrServer


def main() -> None:
    """Serve until the client or a signal ends it; exit with status 1 if a setting is invalid."""
    parser = argparse.ArgumentParser(
        prog="mistral-ocr-mcp",
        description="An MCP server, on stdio unless --http is given: PDF and image files to "
        "Markdown with Mistral OCR. It is configured by MISTRAL_API_KEY, MISTRAL_OCR_ALLOWED_DIR "
        "and MISTRAL_SERVER_URL.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.add_argument("--http", action="store_true", help="serve over HTTP instead")
    parser.add_argument("--host", help="address to listen on, with --http")
    parser.add_argument("--port", type=int, help="port to listen on, with --http (3006)")
    arguments = parser.parse_args()
    if arguments.http:
        serve_http(arguments.host, arguments.port)
    elif arguments.host or arguments.port is not None:
        parser.error("--host and --port need --http")
    else:
        serve()


def serve() -> None:
    """Serve one client on stdio; see `main`."""
    with _reporting():
        _make_server().run("stdio")


def serve_http(host: str | None, port: int | None) -> None:
    """Serve over HTTP; see `main`."""
    with _reporting():
        server = _make_server()
        # Imported late: on stdio, neither the web server nor its settings are needed.
        from mistral_ocr_mcp.http import read_address, serve  # noqa: PLC0415

        serve(server, read_address(host, port))


def _make_server() -> "OcrServer":
    if sys.platform == "win32":
        raise BadSetting(NO_WINDOWS)
    settings = read_settings()
    _configure_logging(settings.api_key)
    # Imported late, so that invalid settings are reported at once.
    from mistral_ocr_mcp.server import OcrServer  # noqa: PLC0415

    return OcrServer(settings)


@contextmanager
def _reporting() -> Iterator[None]:
    try:
        yield
    except BadSetting as error:
        print(f"mistral-ocr-mcp: {error}", file=sys.stderr)
        sys.exit(1)


class _Redacting(logging.Formatter):
    """Formatter that removes the API key from log records, including tracebacks."""

    def __init__(self, key: str) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")
        self._key = key

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace(self._key, "…")


def _configure_logging(key: str) -> None:
    """Log to stderr, because stdout carries the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Redacting(key))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
