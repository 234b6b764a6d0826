"""Uploaded files: received into the home, and deleted when nothing refers to them.

Each has a folder of its own in `uploads/`. It is marked as unfinished until its document is stored,
so that a start after a crash knows what to delete.
"""

import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import anyio

from quinion.concurrency import in_thread
from quinion.console.calls import Calls
from quinion.errors import InvalidInput, QuinionError, UnsupportedFile
from quinion.ingest.applications.ingestion import EXTENSIONS
from quinion.servers import document_store
from quinion.settings import Settings

FOLDER = "uploads"
UNFINISHED = ".unfinished"
OLD_S = 86_400.0
"""Age from which on an unfinished upload belongs to no process any more."""
MAX_BYTES = 1 << 30
MAX_NAME_BYTES = 200
BUFFER_BYTES = 1 << 20


class Uploads:
    """The folder of uploaded files."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.home / FOLDER
        self._read_roots = settings.read_roots
        self._is_shared = settings.database is not None

    async def receive(self, name: str, size: int | None, body: AsyncIterator[bytes]) -> Path:
        """Write an uploaded file, complete or not at all.

        Raises:
            UnsupportedFile: its type cannot be ingested.
            InvalidInput: its name or size cannot be used, or files in the home cannot be read.
            QuinionError: it cannot be written.
        """
        safe = clean_name(name)
        if Path(safe).suffix.lower() not in EXTENSIONS:
            raise UnsupportedFile(
                f"{safe}: files of this type cannot be ingested. "
                f"Supported are: {', '.join(sorted(EXTENSIONS))}."
            )
        _check_size(safe, size or 0)
        folder = self._folder.resolve()
        if self._read_roots and not any(folder.is_relative_to(root) for root in self._read_roots):
            raise InvalidInput(
                f"Uploads are in {folder}, which QUINION_READ_ROOTS excludes. Add it there."
            )
        place = folder / secrets.token_hex(8)
        try:
            await in_thread(_prepare, place)
            await _write(place / safe, body)
        except OSError as error:
            await in_thread(shutil.rmtree, place, ignore_errors=True)
            raise QuinionError(f"{safe} cannot be written ({error.strerror}).") from error
        except BaseException:
            with anyio.CancelScope(shield=True):
                await in_thread(shutil.rmtree, place, ignore_errors=True)
            raise
        return place / safe

    def keep(self, path: Path) -> None:
        """Keep a file, because a document refers to it."""
        (path.parent / UNFINISHED).unlink(missing_ok=True)

    def remove(self, path: Path) -> None:
        """Delete an uploaded file; other files are not touched."""
        if self.has(path):
            shutil.rmtree(path.parent, ignore_errors=True)

    def has(self, path: Path) -> bool:
        """Whether a path is that of an uploaded file."""
        return path.parent.parent == self._folder.resolve()

    async def remove_unfinished(self, calls: Calls) -> None:
        """Delete the files of uploads that a stopped process did not finish.

        Other processes may share the home if the store is in a database. Then only what is older
        than a day is deleted.
        """
        for mark in await in_thread(self._find_unfinished):
            files = [path for path in mark.parent.iterdir() if path != mark]
            if files and await _is_stored(calls, files[0]):
                mark.unlink()
            else:
                await in_thread(shutil.rmtree, mark.parent, ignore_errors=True)

    def _find_unfinished(self) -> list[Path]:
        limit = time.time() - (OLD_S if self._is_shared else 0)
        found = []
        for mark in self._folder.resolve().glob(f"*/{UNFINISHED}"):
            with suppress(FileNotFoundError):  # its upload is finished now
                if mark.stat().st_mtime <= limit:
                    found.append(mark)
        return found


def clean_name(name: str) -> str:
    """Return the last part of a name without what a file name may not have.

    Raises:
        InvalidInput: nothing is left of it.
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(one for one in last if one.isprintable()).strip().lstrip(".")
    stem, dot, extension = kept.rpartition(".")
    room = MAX_NAME_BYTES - len(f"{dot}{extension}".encode())
    short = stem.encode()[: max(room, 0)].decode(errors="ignore")
    if not short or not extension:
        raise InvalidInput(f"{name[:100]!r} cannot be used as the name of a file.")
    return f"{short}.{extension}"


def _check_size(name: str, size: int) -> None:
    if size > MAX_BYTES:
        raise InvalidInput(
            f"{name} is too large: {size >> 20:,} MiB, and an upload may have {MAX_BYTES >> 20:,}. "
            "Ingest it with quinion ingest, which reads it where it is."
        )


def _prepare(place: Path) -> None:
    place.mkdir(mode=0o700, parents=True)
    (place / UNFINISHED).touch()


async def _write(path: Path, body: AsyncIterator[bytes]) -> None:
    size = 0
    buffer = bytearray()
    with path.open("xb") as file:
        async for part in body:
            buffer += part
            size += len(part)
            _check_size(path.name, size)
            if len(buffer) >= BUFFER_BYTES:
                await in_thread(file.write, bytes(buffer))
                buffer.clear()
        await in_thread(file.write, bytes(buffer))
        await in_thread(os.fsync, file.fileno())


async def _is_stored(calls: Calls, path: Path) -> bool:
    with suppress(QuinionError):
        answer = await calls.call(
            document_store.NAME, "page_documents", {"file_path": str(path), "limit": 1}
        )
        return bool(answer["documents"])
    return True  # unknown: keep it
