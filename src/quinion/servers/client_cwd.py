"""Working directory of the client, which its relative paths refer to.

A stdio relay and a command send the directory that they were started in. An HTTP client has no
known directory, so its paths are relative to the server's.
"""

import os
from contextvars import ContextVar
from pathlib import Path

CLIENT_FOLDER: ContextVar[str] = ContextVar("client_folder", default="")


def locate(path: str | Path) -> Path:
    """Make a path absolute, relative to the current client's working directory."""
    return Path(CLIENT_FOLDER.get(), path).absolute()


def expand(text: str) -> str:
    """Make a path absolute and expand `~`; an empty path stays empty."""
    expanded = os.path.expanduser(text)  # noqa: PTH111 - Path's raises for an unknown user
    return os.path.normpath(locate(expanded)) if text else ""
