"""HTTP server that implements Mistral's OCR API with quinion's own extraction.

It is not an MCP server: `mistral-ocr-mcp` works offline when `MISTRAL_SERVER_URL` points to it.
Requests and responses match the models of the `mistralai` client. The server never fetches
documents: they are uploaded or included in the request.
"""

from itertools import chain

from starlette.types import ASGIApp

from quinion.ingest.markdown import MarkdownReader
from quinion.servers.http import check_host
from quinion.servers.ocr_api.auth import KeyCheck
from quinion.servers.ocr_api.calls import RequestObserver
from quinion.servers.ocr_api.routes import make_routes
from quinion.servers.ocr_api.uploads import Files
from quinion.settings import Settings
from quinion.telemetry.metrics import CallMetrics, Source

NAME = "ocr-api"

__all__ = ["NAME", "build_app"]


def build_app(
    settings: Settings, files: Files, reader: MarkdownReader, metrics: Source = tuple
) -> ASGIApp:
    """Build the ASGI app. `metrics` are those of its workers; it adds those of its requests."""
    calls = CallMetrics(NAME)
    routes = make_routes(files, reader, lambda: chain(calls.collect(), metrics()))
    app = check_host(RequestObserver(routes, calls), settings)
    key = settings.api_key
    return KeyCheck(app, key.get_secret_value() if key else None)
