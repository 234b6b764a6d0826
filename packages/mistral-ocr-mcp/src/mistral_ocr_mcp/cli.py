"""Command line `mistral-ocr-mcp`: runs the server on stdio."""

import argparse
import logging
import sys

from mistral_ocr_mcp import __version__
from mistral_ocr_mcp.errors import BadSetting
from mistral_ocr_mcp.settings import read_settings

NO_WINDOWS = (
    "Windows is not supported, because its folders cannot be held open. Run it in WSL "
    "(wsl --install) or in a Docker container."
)


def main() -> None:
    """Serve one client until it closes stdin; exit with status 1 if the settings are invalid."""
    parser = argparse.ArgumentParser(
        prog="mistral-ocr-mcp",
        description="An MCP server on stdio: PDF and image files to Markdown with Mistral OCR. "
        "It is configured by MISTRAL_API_KEY, MISTRAL_OCR_ALLOWED_DIR and MISTRAL_SERVER_URL.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.parse_args()
    serve()


def serve() -> None:
    """Serve one client on stdio; see `main`."""
    if sys.platform == "win32":
        print(f"mistral-ocr-mcp: {NO_WINDOWS}", file=sys.stderr)
        sys.exit(1)
    try:
        settings = read_settings()
    except BadSetting as error:
        print(f"mistral-ocr-mcp: {error}", file=sys.stderr)
        sys.exit(1)
    _configure_logging(settings.api_key)
    # Imported late, so that invalid settings are reported at once.
    from mistral_ocr_mcp.server import OcrServer  # noqa: PLC0415

    OcrServer(settings).run("stdio")


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
