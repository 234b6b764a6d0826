"""Originals and words of pages in a bucket, shared by several servers.

    originals/HASH   original files, written once
    unlisted/HASH    marks of changes that are not finished (`blobs`)
    words/HASH       words of pages

A server keeps copies of what it has read in its home. The callers' locks on hashes prevent that one
server deletes a file that another one is about to list.
"""

import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile

from quinion.errors import StoreUnavailable
from quinion.store.blobs import COPYING
from quinion.store.bucket import Bucket
from quinion.store.word_files import WordFiles

log = logging.getLogger(__name__)

MAX_CACHE_BYTES = 4 << 30
"""Size of the local copies; those that were not used for the longest time are deleted."""
MIN_AGE = timedelta(hours=1)
"""A mark that is younger belongs to a change of another server, or that server removes it."""


class BucketBlobs:
    """Original files in a bucket; implements `blobs.Blobs`."""

    def __init__(self, bucket: Bucket, cache: Path, max_cache_bytes: int = MAX_CACHE_BYTES) -> None:
        self._bucket = bucket
        self._cache = cache
        self._max_cache_bytes = max_cache_bytes

    def has(self, sha256: str) -> bool:
        return self._bucket.has(_original(sha256))

    def fetch(self, sha256: str) -> Path | None:
        copy = self._cache / sha256
        with suppress(OSError):
            os.utime(copy)
            return copy.resolve()
        try:
            self._cache.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=self._cache, prefix=COPYING, delete=False) as file:
                partial = Path(file.name)
                try:
                    if not self._bucket.download(_original(sha256), file, sha256):
                        return None
                    file.flush()
                    partial.rename(copy)
                finally:
                    partial.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailable(
                f"An original cannot be copied to {self._cache} ({error.strerror}). "
                "Check that there is free space and that the folder is writable."
            ) from error
        self._evict(copy)
        return copy.resolve()

    def is_damaged(self, sha256: str) -> bool:
        with Path(os.devnull).open("wb") as nowhere:
            try:
                self._bucket.download(_original(sha256), nowhere, sha256)
            except StoreUnavailable:
                if self._bucket.has(_original(sha256)):  # else it does not answer
                    return True
                raise
        return False

    def keep(self, source: Path, sha256: str) -> None:
        self.mark_unlisted(sha256)
        try:
            self._bucket.upload(_original(sha256), source, sha256)
        except OSError as error:
            raise StoreUnavailable(f"{source} cannot be read ({error.strerror}).") from error

    def mark_unlisted(self, sha256: str) -> None:
        self._bucket.write(_mark(sha256), b"")

    def mark_listed(self, sha256: str) -> None:
        self._try_delete(_mark(sha256))

    def drop(self, sha256: str) -> None:
        with suppress(OSError):
            (self._cache / sha256).unlink()
        if self._try_delete(_original(sha256)):
            self._try_delete(_mark(sha256))

    def sweep(self) -> list[str]:
        newest = datetime.now(UTC) - MIN_AGE
        for path in list(self._cache.glob(f"{COPYING}*")):
            with suppress(OSError):  # another server of this home may have finished it
                if datetime.fromtimestamp(path.stat().st_mtime, UTC) < newest:
                    path.unlink()
        marks = self._bucket.list("unlisted")
        return [key.rpartition("/")[2] for key, written in marks if written < newest]

    def _try_delete(self, key: str) -> bool:
        try:
            self._bucket.delete(key)
        except StoreUnavailable as error:
            log.warning("The mark stays, and a later start decides: %s", error)
            return False
        return True

    def _evict(self, newest: Path) -> None:
        with suppress(OSError):
            kept = [(path.stat(), path) for path in self._cache.iterdir() if path != newest]
            excess = sum(status.st_size for status, _ in kept) - self._max_cache_bytes
            for status, path in sorted(kept, key=lambda one: one[0].st_mtime):
                if excess <= 0:
                    break
                path.unlink(missing_ok=True)
                excess -= status.st_size


class BucketWords(WordFiles):
    """Word files in a bucket, with copies in a folder."""

    def __init__(self, bucket: Bucket, folder: Path) -> None:
        super().__init__(folder)
        self._bucket = bucket

    def has(self, sha256: str) -> bool:
        return super().has(sha256) or self._bucket.has(_words(sha256))

    def read(self, sha256: str, page: int) -> bytes | None:
        found = super().read(sha256, page)
        if found is None:  # another server may have written it
            with suppress(StoreUnavailable):
                self._load(sha256)
            found = super().read(sha256, page)
        return found

    def write(self, sha256: str, pages: Mapping[int, bytes]) -> None:
        self._load(sha256)
        super().write(sha256, pages)
        self._bucket.write(_words(sha256), self.path(sha256).read_bytes())

    def drop(self, sha256: str) -> None:
        super().drop(sha256)
        try:
            self._bucket.delete(_words(sha256))
        except StoreUnavailable as error:
            log.warning("The words of a document are not deleted: %s", error)

    def _load(self, sha256: str) -> None:
        if data := self._bucket.read(_words(sha256)):
            self.save(sha256, data)


def _original(sha256: str) -> str:
    return f"originals/{sha256}"


def _mark(sha256: str) -> str:
    return f"unlisted/{sha256}"


def _words(sha256: str) -> str:
    return f"words/{sha256}"
