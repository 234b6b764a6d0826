"""Index of files and their chunks: write, count and delete. `indexer` fills it."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager

from quinion.concurrency import in_thread
from quinion.embed.base import Embedder
from quinion.embed.factory import Backend, make_embedder
from quinion.ingest.engine_resources import Resources
from quinion.ingest.folders.file_reader import File
from quinion.ingest.folders.file_states import CheckedFile, check_files
from quinion.ingest.folders.plan import Move
from quinion.ingest.folders.records import (
    IndexCollections,
    chunk_ids,
    chunk_records,
    file_record,
    placeholder,
)
from quinion.ingest.folders.scan import is_missing
from quinion.ingest.kept_files import NewFile
from quinion.ingest.source import Digests
from quinion.model.record import Record
from quinion.store.base import Selector, Vectors
from quinion.store.collections import Write


class FolderIndex:
    """One index: files and their chunks. Each transaction changes its files before its chunks.

    `failures` has the files that the last run over them in this process could not index, by path
    with the reason.
    """

    def __init__(self, resources: Resources) -> None:
        settings = resources.settings
        self.resources = resources
        self.names = IndexCollections(settings.docvec_collection)
        self.embedder = self._open_embedder()
        self.digests = Digests()
        self.failures: dict[str, str] = {}
        self._paths: set[str] | None = None
        self._declared = self.embedder is resources.model
        if not self._declared:
            resources.collections.declare(self.names.chunks, None)

    async def declare(self) -> None:
        """Check that the index was built with the configured embedding model.

        An embedding service must be asked for its model. Counting and deleting do not need it.

        Raises:
            ModelUnavailable: the service does not respond.
        """
        if not self._declared:
            self.resources.collections.declare(
                self.names.chunks, await in_thread(lambda: self.embedder.fingerprint)
            )
            self._declared = True

    def writing(self) -> AbstractAsyncContextManager[None]:
        """Lock the index for one change."""
        return self.resources.locks.hold(("index change", self.names.chunks))

    def running(self) -> AbstractAsyncContextManager[None]:
        """Lock the index for one run that brings it into step with files."""
        return self.resources.locks.hold(("index run", self.names.chunks))

    async def known(self) -> dict[str, str]:
        """The indexed files, by path, with the hash of their indexed content."""
        records = await self.resources.collections.get(self.names.files)
        return {record.id: str(record.metadata["doc_hash"]) for record in records}

    async def list_paths(self) -> set[str]:
        """The paths of the indexed files: read once, and then kept in step with every change.

        Other engines may change the index in a database, so that it is read each time.
        """
        if self.resources.settings.database:
            return set(await self.known())
        count = await self.resources.collections.count(Selector.everything(self.names.files))
        if self._paths is None or len(self._paths) != count:
            self._paths = set(await self.known())
        return set(self._paths)

    async def put(self, files: Sequence[File], vectors: Vectors) -> dict[str, list[str]]:
        """Replace the stored files in one transaction; return the chunk ids of each path."""
        names = self.names
        records = [record for file in files for record in chunk_records(file)]
        file_records = [file_record(file) for file in files]

        def store(write: Write) -> None:
            write.upsert(names.files, file_records, placeholder(len(file_records)))
            for file in files:
                write.delete(names.chunks_of(file.path))
            write.upsert(names.chunks, records, vectors)

        new = [
            NewFile(file.source.real_path, file.source.sha256, file.pages)
            for file in files
            if file.format.has_pages
        ]
        async with self.writing():
            replaced = await self._hashes([file.path for file in files])
            async with self.resources.kept.change(new, replaced):
                await self.resources.collections.write(store)
            self._note(added=[file.path for file in files])
        return {file.path: chunk_ids(file) for file in files}

    async def move(self, move: Move) -> None:
        """Update the path of a renamed file and its chunks."""
        names, path = self.names, str(move.source.path)
        async with self.writing():
            [old] = await self.resources.collections.get(names.files, ids=[move.old])
            new = Record(path, move.source.path.name, old.metadata)

            def store(write: Write) -> None:
                write.delete(Selector.by_ids(names.files, [move.old]))
                write.upsert(names.files, [new], placeholder(1))
                write.update_metadata(names.chunks_of(move.old), {"source_file": path})

            await self.resources.collections.write(store)
            self._note(added=[path], removed=[move.old])

    async def remove(self, path: str) -> None:
        """Delete a file and its chunks."""
        async with self.writing(), self.resources.kept.change(removed=await self._hashes([path])):
            await self.resources.collections.delete(self.names.all_of(path))
            self._note(removed=[path])

    async def count(self) -> int:
        """Number of chunks in the index."""
        return await self.resources.collections.count(Selector.everything(self.names.chunks))

    async def delete_chunks(self, ids: Sequence[str]) -> list[str]:
        """Delete these chunks and return the ids that existed.

        A file that has no chunks left is deleted too.
        """
        if not ids:
            return []
        async with self.writing():
            records = await self.resources.collections.get(
                self.names.chunks, ids=list(dict.fromkeys(ids))
            )
            if not records:
                return []
            found = [record.id for record in records]
            selectors = [Selector.by_ids(self.names.chunks, found)]
            hashes = {str(record.metadata["doc_hash"]) for record in records}
            for path in {str(record.metadata["source_file"]) for record in records}:
                deleted = sum(record.metadata["source_file"] == path for record in records)
                if await self.resources.collections.count(self.names.chunks_of(path)) == deleted:
                    selectors.insert(0, Selector.by_ids(self.names.files, [path]))
            async with self.resources.kept.change(removed=hashes):
                await self.resources.collections.delete(selectors)
            return found

    async def delete_file(self, path: str) -> int:
        """Delete a file and its chunks from the index; return the number of chunks."""
        async with self.writing():
            count = await self.resources.collections.count(self.names.chunks_of(path))
            async with self.resources.kept.change(removed=await self._hashes([path])):
                await self.resources.collections.delete(self.names.all_of(path))
            self._note(removed=[path])
            return count

    async def clear(self) -> int:
        """Delete everything from the index; return the number of chunks."""
        async with self.writing():
            count = await self.count()
            hashes = set((await self.known()).values())
            async with self.resources.kept.change(removed=hashes):
                await self.resources.collections.delete(
                    [
                        Selector.everything(self.names.files),
                        Selector.everything(self.names.chunks),
                    ]
                )
            return count

    def _note(self, *, added: Iterable[str] = (), removed: Iterable[str] = ()) -> None:
        if self._paths is not None:
            self._paths.difference_update(removed)
            self._paths.update(added)

    async def _hashes(self, paths: Sequence[str]) -> list[str]:
        records = await self.resources.collections.get(self.names.files, ids=paths)
        return [str(record.metadata["doc_hash"]) for record in records]

    def _count_tokens(self, text: str) -> int:
        return self.resources.counter.count(text)

    def _open_embedder(self) -> Embedder:
        settings = self.resources.settings
        if settings.docvec_backend == "local":
            return self.resources.model
        return make_embedder(
            Backend(settings.docvec_backend),
            host=settings.docvec_host,
            model=settings.docvec_model,
            api_key=settings.docvec_api_key,
            timeout_s=settings.docvec_timeout,
            count=self._count_tokens,
        )

    async def check(self, paths: Sequence[str]) -> list[CheckedFile]:
        """Compare indexed and failed files with the disk."""
        records = await self.resources.collections.get(self.names.files, ids=paths)
        by_path = {record.id: record for record in records}
        failures = dict(self.failures)
        return await in_thread(check_files, paths, by_path, failures, self.digests)

    async def find_vanished(self, paths: Sequence[str]) -> list[str]:
        """The paths that no longer exist on disk."""
        return await in_thread(lambda: [path for path in paths if is_missing(path)])
