"""Adapter for `mistral-ocr`, a server from a separate distribution.

It needs no home and no engine, and its package reads its own environment variables.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from quinion.errors import BadSetting, InvalidInput, QuinionError
from quinion.telemetry.metrics import CallMetrics

if TYPE_CHECKING:
    # Types only: a stdio relay imports this module, and mcp and Starlette double its memory.
    from mcp.server.mcpserver import MCPServer

    from quinion.servers.auth import Refusal

NAME = "mistral-ocr"
KEY = "MISTRAL_API_KEY"
FOLDER = "MISTRAL_OCR_ALLOWED_DIR"
SERVER = "MISTRAL_SERVER_URL"
TOOLS = frozenset({"extract_markdown", "extract_markdown_with_images"})
VARIABLES = (KEY, FOLDER, SERVER)
"""Variables of the package; the first two are required."""


def is_configured() -> bool:
    """Return whether the package is installed and its variables allow it to start."""
    try:
        _read_settings()
    except QuinionError:
        return False
    return True


def read_variables() -> dict[str, str]:
    """Return its variables that are set, for a client that starts it.

    Raises:
        InvalidInput: the package is not installed.
        BadSetting: one of its variables is missing or invalid.
    """
    settings = _read_settings()
    values = (settings.api_key, settings.allowed, settings.server_url)
    return {name: value for name, value in zip(VARIABLES, values, strict=True) if value}


def build() -> "tuple[MCPServer[Any], CallMetrics]":
    """Build the server, and observe its calls.

    Raises:
        InvalidInput: the package is not installed.
        BadSetting: one of its variables is missing or invalid.
    """
    settings = _read_settings()
    # Imported after the settings are checked, because it takes a second.
    from mistral_ocr_mcp.server import OcrServer  # noqa: PLC0415

    from quinion.servers.calls import CallObserver  # noqa: PLC0415

    server, calls = OcrServer(settings), CallMetrics(NAME)
    server.middleware.append(CallObserver(calls, TOOLS.__contains__))
    return server, calls


def serve_stdio() -> None:
    """Serve one client on stdio, like `mistral-ocr-mcp`.

    Raises:
        InvalidInput: the package is not installed.
    """
    _check_installed()
    from mistral_ocr_mcp.cli import serve  # noqa: PLC0415

    serve()


def word_refusal(_: "Refusal") -> str:
    """Return the 401 message; the contract does not prescribe one."""
    return "Missing or invalid authentication token"


def _read_settings() -> Any:
    _check_installed()
    from mistral_ocr_mcp.errors import BadSetting as Refused  # noqa: PLC0415
    from mistral_ocr_mcp.settings import read_settings  # noqa: PLC0415

    try:
        return read_settings()
    except Refused as error:
        raise BadSetting(str(error)) from error


def _check_installed() -> None:
    if find_spec("mistral_ocr_mcp") is None:
        raise InvalidInput(
            "mistral-ocr is not installed. In a checkout of quinion, run: "
            "pip install ./packages/mistral-ocr-mcp (the package of that name on the package "
            "index is another company's)."
        )
