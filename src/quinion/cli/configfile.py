"""Another program's JSON file, changed without harm.

What is not understood is not touched: a file that is not plain JSON is refused, because comments
would be lost. What was there is kept beside it, the new file takes its place at once, with the
same permissions, and a link stays a link.
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
"""Permissions of a file that we make: there may be secrets in it."""


def read_config(path: Path) -> Config:
    """What the file says; nothing where there is none, or an empty one.

    Raises:
        QuinionError: it can't be read, or is not one JSON object.
    """
    return _parse(path, _read(path))


def change_config(path: Path, config: Config) -> Path | None:
    """Have the file say this; the copy of what was there, if something was.

    Raises:
        QuinionError: it can't be written.
    """
    before = _read(path)
    with _writing(path):
        place = path.resolve()
        place.parent.mkdir(parents=True, exist_ok=True)
        if before and not os.access(place, os.W_OK):
            raise PermissionError(None, "it is read-only")
        backup = _copy(place)
        _replace(place, _word(config, before))
    return backup


def back_up(path: Path) -> Path | None:
    """Copy the file beside itself under a name that is free; None where there is none.

    Raises:
        QuinionError: there can be no copy.
    """
    with _writing(path):
        return _copy(path.resolve())


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise QuinionError(f"{path} cannot be written ({error.strerror or error}).") from error


def _copy(path: Path) -> Path | None:
    if not path.exists():
        return None
    names = (f"{path.name}.bak" + (f"-{number}" if number > 1 else "") for number in count(1))
    backup = next(free for name in names if not (free := path.with_name(name)).exists())
    # Made by us and readable by nobody else, before there is anything in it.
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
        config = json.loads(text, object_pairs_hook=_refuse_twins) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise QuinionError(
            f"{path} is not plain JSON ({error}). It is left as it is, because comments and the "
            "like would be lost: correct it, or put the entries there yourself."
        ) from error
    if not isinstance(config, dict):
        raise QuinionError(f"{path} is not a JSON object. It is left as it is: look into it.")
    return config


def _refuse_twins(pairs: list[tuple[str, Any]]) -> Config:
    """An object; one with two values of one name would lose the first."""
    config = dict(pairs)
    if len(config) < len(pairs):
        raise ValueError("a name is there twice in one object")
    return config


def _word(config: Config, before: bytes) -> bytes:
    """The text of the file, indented as it was."""
    indented = re.search(rb"\n([ \t]+)\S", before)
    indent: str | int = indented[1].decode() if indented else 2
    text = json.dumps(config, indent=indent, ensure_ascii=False)
    if before.endswith(b"\n") or not before:
        text += "\n"
    # What UTF-8 can't have is written as JSON escapes it.
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
