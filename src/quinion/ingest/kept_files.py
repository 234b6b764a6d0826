"""Files that are kept with documents: originals, words with their boxes, and page images.

They lie in the home, and originals and words in a bucket if there is one, by the hash of the
document's content, so several documents and servers share them. A hash is listed while the metadata
of any record names it. What is kept of it is deleted with its last record.

A marked file (`store.blobs`) belongs to a change that is not finished. If the process dies, the
next start deletes what is marked and not listed.
"""

import logging
import shutil
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from quinion.concurrency import in_thread
from quinion.errors import ExtractionFailed, StoreUnavailable
from quinion.model.page import Page, words_of_text
from quinion.store.base import Selector, VectorStore
from quinion.store.blobs import Blobs, FolderBlobs
from quinion.store.locks import Locks
from quinion.store.word_files import WordFiles

if TYPE_CHECKING:
    from quinion.store.bucket import Bucket

log = logging.getLogger(__name__)

HASH_KEYS = ("file_hash", "doc_hash", "sha256")
"""Metadata keys of records that name the content of a file."""
ORIGINALS, WORDS, PICTURES = "originals", "words", "pictures"
CACHE = "cache"
"""Folder for copies of originals in a bucket."""
_LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file whose document is about to be stored: its path, hash and pages.

    A `required` original is kept in any case, because its server cannot work without it.
    """

    path: Path
    sha256: str
    pages: Sequence[Page]
    required: bool = False


class KeptFiles:
    """Kept files of one home, or of all servers that share a bucket."""

    def __init__(
        self,
        folder: Path,
        store: VectorStore,
        locks: Locks,
        *,
        keep_originals: bool,
        bucket: "Bucket | None" = None,
    ) -> None:
        self._in_home = FolderBlobs(folder / ORIGINALS, is_shared=locks.are_shared)
        self.originals: Blobs = self._in_home
        self.words = WordFiles(folder / WORDS)
        if bucket:
            # Imported here because it imports obstore, which most users do not have.
            from quinion.store.bucket_blobs import BucketBlobs, BucketWords  # noqa: PLC0415

            self.originals = BucketBlobs(bucket, folder / CACHE / ORIGINALS)
            self.words = BucketWords(bucket, folder / WORDS)
        self.pictures = folder / PICTURES
        self._folder = folder
        self._store = store
        self._keep_originals = keep_originals
        self.locks = locks

    async def open(self) -> None:
        """Adopt the originals of earlier versions, and finish what a killed process began.

        Raises:
            OSError: the files cannot be moved.
        """
        await in_thread(self._adopt)
        try:
            for sha256 in await in_thread(self.originals.sweep):
                # Another engine that shares the store and the folder may be at work on it.
                async with self.locks.hold_if_free(("file", sha256)) as is_held:
                    if is_held:
                        await in_thread(self._settle, [sha256])
        except StoreUnavailable as error:  # searches need no originals
            log.warning("Originals cannot be shown or added now: %s", error)

    def _adopt(self) -> None:
        library = self._folder / _LIBRARY
        self._in_home.adopt(library / ORIGINALS)
        shutil.rmtree(library / PICTURES, ignore_errors=True)

    @asynccontextmanager
    async def change(
        self, added: Iterable[NewFile] = (), removed: Collection[str] = ()
    ) -> AsyncIterator[None]:
        """Keep the files that the block adds, and delete those whose last document it removes.

        A file that changed since it was read is not kept; a required one is an error.

        Raises:
            ExtractionFailed: a required file changed since it was read.
            StoreUnavailable: a file cannot be written.
        """
        files = list(added)
        touched = [*(file.sha256 for file in files), *removed]
        async with self.locks.hold(*(("file", sha256) for sha256 in touched)):
            try:
                await in_thread(self._begin, files, removed)
                yield
            finally:
                with anyio.CancelScope(shield=True):
                    await in_thread(self._settle, touched)

    async def keep_words(self, sha256: str, pages: Mapping[int, bytes]) -> None:
        """Keep the words of pages of a listed document; a failure is only logged."""
        async with self.locks.hold(("file", sha256)):
            try:
                if await in_thread(self.is_listed, sha256):
                    await in_thread(self.words.write, sha256, pages)
            except (OSError, StoreUnavailable) as error:
                log.warning("The words of a page cannot be kept: %s", error)

    def is_listed(self, sha256: str) -> bool:
        """Whether the metadata of any record names this content. Blocking."""
        return any(
            self._store.count(Selector.by_values(collection, **{key: sha256}))
            for collection in self._store.collections()
            for key in HASH_KEYS
        )

    def is_damaged(self, sha256: str) -> bool:
        """Whether an original is kept and has another content than it should. Blocking."""
        return self.originals.is_damaged(sha256)

    def _begin(self, files: Sequence[NewFile], removed: Collection[str]) -> None:
        for sha256 in removed:
            if self._has(sha256):
                self.originals.mark_unlisted(sha256)
        for file in files:
            self.originals.mark_unlisted(file.sha256)
            if words := {
                page.number: words_of_text(page.words) for page in file.pages if page.words
            }:
                try:
                    self.words.write(file.sha256, words)
                except OSError as error:
                    raise StoreUnavailable(
                        f"The words of {file.path.name} cannot be written to the home "
                        f"({error.strerror}). Check that there is free space."
                    ) from error
            if file.required:
                self.originals.keep(file.path, file.sha256)
            elif self._keep_originals:
                try:
                    self.originals.keep(file.path, file.sha256)
                except ExtractionFailed as error:
                    log.warning("The original is not kept: %s", error)

    def _settle(self, touched: Iterable[str]) -> None:
        """Delete what is kept of contents that are not listed, and unmark the others."""
        for sha256 in touched:
            try:
                is_listed = not self._has(sha256) or self.is_listed(sha256)
            except StoreUnavailable as error:
                # The mark stays, and the next start decides.
                log.warning("Not known whether a kept file is still needed: %s", error)
                continue
            if is_listed:
                self.originals.mark_listed(sha256)
            else:
                self.words.drop(sha256)
                shutil.rmtree(self.pictures / sha256, ignore_errors=True)
                self.originals.drop(sha256)

    def _has(self, sha256: str) -> bool:
        has_pictures = (self.pictures / sha256).exists()
        return self.originals.has(sha256) or self.words.has(sha256) or has_pictures
