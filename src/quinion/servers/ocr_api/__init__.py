"""An HTTP server with the shape of Mistral's OCR API, answered by our own extraction.

Not an MCP server: it is what `MISTRAL_SERVER_URL` of `mistral-ocr-mcp` points at to work
offline. The shapes are those of the `mistralai` client's models. It never fetches anything:
documents are uploaded, or come inside of the request.
"""

from starlette.types import ASGIApp

from quinion.servers.http import check_host
from quinion.servers.ocr_api.auth import KeyCheck
from quinion.servers.ocr_api.files import Files
from quinion.servers.ocr_api.reading import Reader
from quinion.servers.ocr_api.routes import make_routes
from quinion.settings import Settings

NAME = "ocr-api"

__all__ = ["NAME", "build_app"]


def build_app(settings: Settings, files: Files, reader: Reader) -> ASGIApp:
    """The ASGI app."""
    app = check_host(make_routes(files, reader), settings)
    key = settings.api_key
    return KeyCheck(app, key.get_secret_value() if key else None)
