"""`quinion stdio`: one server for one desktop client."""

import anyio

from quinion.servers.catalog import find_server
from quinion.servers.stdio import serve_stdio
from quinion.settings import Settings


def run(settings: Settings, name: str) -> None:
    """Serve until the client closes stdin."""
    anyio.run(serve_stdio, settings, find_server(name))
