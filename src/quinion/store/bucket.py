"""Bucket: a shared folder (`file:///…`) or an S3-compatible bucket (`s3://…`), through obstore.

An object is visible once it is complete. Credentials, region and endpoint of S3 are those of the
AWS command line: variables such as AWS_ACCESS_KEY_ID and AWS_ENDPOINT_URL, or the role of the
machine.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import from_url

from quinion.errors import BadSetting, StoreUnavailable
from quinion.store.blobs import changed

STEP = 8 << 20
"""Bytes in memory for each transfer. Larger files are sent in parts."""
PARTS_AT_ONCE = 2
_CLIENT = {
    "allow_http": True,  # only if the user gives an endpoint with http
    "connect_timeout": "5s",
    "read_timeout": "30s",
    "timeout": "15m",
}
_RETRIES = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}


class Bucket:
    """Objects by key. All methods block, and raise StoreUnavailable when it does not answer."""

    def __init__(self, url: str) -> None:
        """Open a bucket; nothing is sent to it yet.

        Raises:
            BadSetting: the address cannot be used.
        """
        parts = urlsplit(url)
        self.address = f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
        options: dict[str, Any] = {"client_options": _CLIENT, "retry_config": _RETRIES}
        if parts.scheme == "file":
            options = {"mkdir": True}
        try:
            self._store: Any = from_url(url, **options)
        except (BaseError, ValueError, OSError) as error:
            raise BadSetting(f"QUINION_BLOBS_URL: {_first_line(error)}.") from error

    def has(self, key: str) -> bool:
        """Whether there is an object with this key."""
        with self._failures():
            try:
                obstore.head(self._store, key)
            except FileNotFoundError:
                return False
        return True

    def read(self, key: str) -> bytes | None:
        """Read a small object; `None` if there is none."""
        with self._failures():
            try:
                return bytes(obstore.get(self._store, key).bytes())
            except FileNotFoundError:
                return None

    def write(self, key: str, data: bytes) -> None:
        """Write a small object, or replace it."""
        with self._failures():
            obstore.put(self._store, key, data, use_multipart=False)

    def upload(self, key: str, source: Path, sha256: str) -> None:
        """Send a file, unless there is an object with this key.

        Raises:
            ExtractionFailed: the content of the file has changed; no object is made.
        """
        with source.open("rb") as file:
            first = file.read(STEP)
            if len(first) < STEP:
                if hashlib.sha256(first).hexdigest() != sha256:
                    raise changed(source)
                self._create(key, first)
            elif not self.has(key):
                self._send_parts(key, file, first, source, sha256)

    def download(self, key: str, target: IO[bytes], sha256: str) -> bool:
        """Write an object to a file; return false if there is none.

        Raises:
            StoreUnavailable: its content has another hash.
        """
        digest = hashlib.sha256()
        with self._failures():
            try:
                for part in obstore.get(self._store, key).stream(min_chunk_size=STEP):
                    digest.update(part)
                    target.write(part)
            except FileNotFoundError:
                return False
        if digest.hexdigest() != sha256:
            raise StoreUnavailable(
                f"The object {key} in {self.address} is damaged: its content has another hash. "
                "Delete it there, and ingest the file again."
            )
        return True

    def delete(self, key: str) -> None:
        """Delete an object, if it exists."""
        with self._failures(), suppress(FileNotFoundError):
            obstore.delete(self._store, key)

    def list(self, prefix: str) -> Iterator[tuple[str, datetime]]:
        """List the objects whose key begins with this folder: keys, and when they were written."""
        with self._failures():
            for part in obstore.list(self._store, prefix):
                for one in part:
                    yield one["path"], one["last_modified"]

    def _create(self, key: str, data: bytes) -> None:
        with self._failures(), suppress(AlreadyExistsError):
            obstore.put(self._store, key, data, mode="create", use_multipart=False)

    def _send_parts(
        self, key: str, file: IO[bytes], first: bytes, source: Path, sha256: str
    ) -> None:
        digest, is_changed = hashlib.sha256(), False

        def parts() -> Iterator[bytes]:
            nonlocal is_changed
            part = first
            while part:
                digest.update(part)
                following = file.read(STEP)
                if not following and digest.hexdigest() != sha256:
                    is_changed = True  # without its last part the object is not made
                    raise ValueError(key)
                yield part
                part = following

        with self._failures():
            try:
                obstore.put(
                    self._store, key, parts(), chunk_size=STEP, max_concurrency=PARTS_AT_ONCE
                )
            except Exception:
                if is_changed:
                    raise changed(source) from None
                raise

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Translate errors of the bucket into StoreUnavailable."""
        try:
            yield
        except (BaseError, OSError) as error:
            raise StoreUnavailable(
                f"The originals in {self.address} cannot be read or written "
                f"({_first_line(error)}). Check QUINION_BLOBS_URL, the credentials and the "
                "network, then try again."
            ) from error


def _first_line(error: Exception) -> str:
    """The first line of a message of obstore; the others are its internal state."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
