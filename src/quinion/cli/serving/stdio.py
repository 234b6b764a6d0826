"""`quinion stdio`: serve one desktop client over stdin and stdout."""

from quinion.daemon.client import attach
from quinion.daemon.relay import serve_stdio
from quinion.servers import mistral_ocr
from quinion.servers.registry import find_server
from quinion.settings import Settings


def run(settings: Settings, name: str) -> None:
    """Serve until the client closes stdin."""
    if name == mistral_ocr.NAME:
        mistral_ocr.serve_stdio()
        return
    mine = find_server(name).settings(settings)
    serve_stdio(lambda: attach(mine, name))
