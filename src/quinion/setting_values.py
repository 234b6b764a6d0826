"""Values of settings: how the text of a variable becomes a value.

The messages of errors must not contain values that may be secret.
"""

import os
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator


def split_paths(value: object) -> object:
    """Split a list of folders, separated like PATH."""
    if isinstance(value, str):
        return tuple(Path(part).expanduser().resolve() for part in value.split(os.pathsep) if part)
    return value


def split_commas(value: object) -> object:
    """Split a comma-separated list."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def strip(value: object) -> object:
    """Strip spaces around a text."""
    return value.strip() if isinstance(value, str) else value


def expand(value: object) -> object:
    """Make an absolute path of a text, with `~` expanded."""
    return Path(value).expanduser().absolute() if isinstance(value, str) else value


def refuse_login(value: object) -> object:
    """Refuse an address of Chroma with a login."""
    if isinstance(value, str) and "@" in value.partition("://")[2].partition("/")[0]:
        raise ValueError("it contains a login, which Chroma's client does not send. Remove it")
    return value


def check_postgres(value: object) -> object:
    """Check that an address is one of PostgreSQL."""
    # The message must not contain the value, which may have a password.
    if isinstance(value, str) and not value.startswith(("postgresql://", "postgres://")):
        raise ValueError("write it like postgresql://user:password@host:5432/database")
    return value


Folder = Annotated[Path, BeforeValidator(expand)]
