"""Where a client is: what its relative paths are relative to.

A relay on stdio and a command say in which folder they were started. A client over HTTP is
somewhere else, and gets the folder of the server.
"""

from contextvars import ContextVar
from pathlib import Path

CLIENT_FOLDER: ContextVar[str] = ContextVar("client_folder", default="")


def locate(path: str | Path) -> Path:
    """The path made absolute as the client that is being served means it."""
    return Path(CLIENT_FOLDER.get(), path).absolute()
