"""Uploaded files: stored in a temporary folder, with limits on number, size and age."""

import hashlib
import hmac
import secrets
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import BinaryIO
from urllib.parse import parse_qs, urlsplit

from quinion.servers.ocr_api.auth import SIGNED_PREFIX
from quinion.servers.ocr_api.problems import Problem, no_file, too_large

PREFIX = "quinion-ocr-"
MAX_FILES = 100
MAX_BYTES = 512 << 20
MAX_TOTAL = 2 << 30
MAX_AGE_S = 2 * 3600


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An uploaded file. `name` comes from the client and is never used as a path."""

    id: str
    name: str
    content_type: str
    size: int
    created_at: int
    path: Path


class Files:
    """The uploaded files that are neither deleted nor expired."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time) -> None:
        self._folder = folder
        self._clock = clock
        self._files: dict[str, StoredFile] = {}
        self._secret = secrets.token_bytes(32)

    def add(self, name: str, content_type: str, stream: BinaryIO) -> StoredFile:
        """Store a copy of the stream.

        Raises:
            Problem: too many files, or too many bytes in total or in this file.
        """
        self._delete_expired()
        used = sum(file.size for file in self._files.values())
        if len(self._files) >= MAX_FILES or used >= MAX_TOTAL:
            raise Problem(
                429,
                "too_many_files",
                "1300",
                "Too many files are stored. Delete some and try again.",
            )
        file_id = str(uuid.uuid4())
        path = self._folder / file_id
        with path.open("xb") as target:
            shutil.copyfileobj(stream, target)
        size = path.stat().st_size
        if size > MAX_BYTES:
            path.unlink()
            raise too_large(MAX_BYTES)
        file = StoredFile(file_id, name, content_type, size, int(self._clock()), path)
        self._files[file_id] = file
        return file

    def find(self, file_id: str) -> StoredFile:
        """The file with this id.

        Raises:
            Problem: there is no such file.
        """
        self._delete_expired()
        try:
            return self._files[file_id]
        except KeyError:
            raise no_file(file_id[:100]) from None

    def delete(self, file_id: str) -> None:
        """Delete a file.

        Raises:
            Problem: there is no such file.
        """
        file = self.find(file_id)
        del self._files[file_id]
        file.path.unlink(missing_ok=True)

    def sign(self, file_id: str, hours: int) -> str:
        """The path and query of a signed URL for the file, valid for `hours`.

        Raises:
            Problem: there is no such file.
        """
        self.find(file_id)
        expires = int(self._clock()) + hours * 3600
        signature = self._signature(file_id, expires)
        return f"{SIGNED_PREFIX}{file_id}?expires={expires}&signature={signature}"

    def find_signed(self, address: str) -> StoredFile | None:
        """The file of a signed URL; None if the signature is missing, invalid or expired.

        Nothing is fetched. Only the signature counts; the host of the URL is ignored.

        Raises:
            Problem: the signature is valid, but the file no longer exists.
        """
        try:
            parts = urlsplit(address)
            query = parse_qs(parts.query)
            expires = int(query["expires"][0])
            given = query["signature"][0]
        except (ValueError, KeyError):
            return None
        file_id = parts.path.removeprefix(SIGNED_PREFIX)
        expected = self._signature(file_id, expires)
        if not hmac.compare_digest(given.encode(), expected.encode()) or expires < self._clock():
            return None
        return self.find(file_id)

    def _signature(self, file_id: str, expires: int) -> str:
        return hmac.new(self._secret, f"{file_id} {expires}".encode(), hashlib.sha256).hexdigest()

    def _delete_expired(self) -> None:
        limit = self._clock() - MAX_AGE_S
        for file in [file for file in self._files.values() if file.created_at < limit]:
            del self._files[file.id]
            file.path.unlink(missing_ok=True)


@contextmanager
def open_files() -> Iterator[Files]:
    """A store of files in a temporary folder, which is deleted at the end of the block."""
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        yield Files(Path(folder))
