"""Settings from environment variables; invalid values stop the server before it starts."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from mistral_ocr_mcp.errors import BadSetting

KEY = "MISTRAL_API_KEY"
ALLOWED = "MISTRAL_OCR_ALLOWED_DIR"
SERVER = "MISTRAL_SERVER_URL"
ROOTS = "QUINION_READ_ROOTS"
"""Variable of quinion: a server that runs beside quinion's has the same read restrictions."""


@dataclass(frozen=True)
class Settings:
    """Settings of a server.

    `allowed` is the variable as set, for messages; `root` is the folder with links resolved.
    `read_roots` are the folders that files may be read from; if empty, all folders.
    """

    allowed: str
    root: Path
    api_key: str = field(repr=False)
    server_url: str | None = None
    read_roots: tuple[Path, ...] = ()


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read and check the variables.

    Raises:
        BadSetting: a variable is missing or invalid.
    """
    key = _read_key(environment.get(KEY, "").strip())
    allowed = environment.get(ALLOWED, "")
    return Settings(
        allowed,
        _read_root(allowed),
        key,
        _read_url(environment.get(SERVER, "").strip()),
        _read_roots(environment.get(ROOTS, "")),
    )


def _read_key(key: str) -> str:
    if not key:
        raise BadSetting(f"{KEY} is not set. Set it to your Mistral API key and start again.")
    # HTTP libraries include an unsendable header, and thus the key, in their error messages.
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise BadSetting(
            f"{KEY} has invalid characters. Copy the key again, without quotes or spaces."
        )
    return key


def _read_root(allowed: str) -> Path:
    if not allowed:
        raise BadSetting(
            f"{ALLOWED} is not set. Set it to the absolute path of the folder that may be "
            "written to and start again."
        )
    path = Path(allowed)
    if not path.is_absolute():
        raise BadSetting(f"{ALLOWED} is not an absolute path: {allowed!r}. Give the full path.")
    try:
        root = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise BadSetting(
            f"{ALLOWED} does not exist: {allowed!r}. Create the folder, or name another."
        ) from None
    if not root.is_dir():
        raise BadSetting(f"{ALLOWED} is not a directory: {allowed!r}. Name a folder.")
    return root


def _read_roots(paths: str) -> tuple[Path, ...]:
    return tuple(Path(path).expanduser().resolve() for path in paths.split(os.pathsep) if path)


def _read_url(url: str) -> str | None:
    if not url:
        return None
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise BadSetting(f"{SERVER} is not an http or https URL: {url!r}. Correct or unset it.")
    return url.rstrip("/")
