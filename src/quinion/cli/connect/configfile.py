"""Safe editing of another program's JSON configuration file.

A file that is not plain JSON is refused, because comments would be lost. The old file is backed up
beside the new one, which replaces it atomically and keeps its permissions. A symbolic link stays
a link.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from quinion.errors import QuinionError

Config = dict[str, Any]

BOM = b"\xef\xbb\xbf"
PRIVATE = 0o600
"""Mode of files created here; they may contain secrets."""


def read_config(path: Path) -> Config:
    """Read the file; a missing or empty one is an empty object.

    Raises:
        QuinionError: the file is unreadable or not a JSON object.
    """
    return _parse(path, _read(path))


def change_config(path: Path, config: Config) -> Path | None:
    """Write the configuration and return the backup of the previous file, if any.

    Raises:
        QuinionError: the file cannot be written.
    """
    before = _read(path)
    with _write_errors(path):
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        if before and not os.access(target, os.W_OK):
            raise PermissionError(None, "it is read-only")
        backup = _copy(target)
        _replace(target, _serialize(config, before))
    return backup


def back_up(path: Path) -> Path | None:
    """Back up the file beside itself under a free name; None if there is no file.

    Raises:
        QuinionError: the backup cannot be written.
    """
    with _write_errors(path):
        return _copy(path.resolve())


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise QuinionError(f"{path} cannot be written ({error.strerror or error}).") from error


def _copy(path: Path) -> Path | None:
    if not path.exists():
        return None
    names = (f"{path.name}.bak" + (f"-{number}" if number > 1 else "") for number in count(1))
    backup = next(free for name in names if not (free := path.with_name(name)).exists())
    # Created empty and private first, so that the content is never readable by other users.
    os.close(os.open(backup, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))
    shutil.copy2(path, backup)
    return backup


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise QuinionError(f"{path} cannot be read ({error.strerror}).") from error


def _parse(path: Path, content: bytes) -> Config:
    try:
        text = content.decode("utf-8-sig")
        config = json.loads(text, object_pairs_hook=_reject_duplicates) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise QuinionError(
            f"{path} is not plain JSON ({error}). It was not changed, because comments would be "
            "lost. Correct it, or add the entries yourself."
        ) from error
    if not isinstance(config, dict):
        raise QuinionError(f"{path} is not a JSON object. It was not changed; check the file.")
    return config


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> Config:
    """Build an object; a duplicate name would lose its first value."""
    config = dict(pairs)
    if len(config) < len(pairs):
        raise ValueError("duplicate name in an object")
    return config


def _serialize(config: Config, before: bytes) -> bytes:
    """Serialize the configuration with the indentation of the previous file."""
    indented = re.search(rb"\n([ \t]+)\S", before)
    indent: str | int = indented[1].decode() if indented else 2
    text = json.dumps(config, indent=indent, ensure_ascii=False)
    if before.endswith(b"\n") or not before:
        text += "\n"
    # Lone surrogates are not valid UTF-8; write them as JSON escapes.
    content = text.encode("utf-8", "backslashreplace")
    return BOM + content if before.startswith(BOM) else content


def _replace(path: Path, content: bytes) -> None:
    mode = path.stat().st_mode & 0o7777 if path.exists() else PRIVATE
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
