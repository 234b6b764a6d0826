"""Indexing of folders and files: brings an index into step with the files on disk.

    find → hash → plan → read and split → embed → store

The last three overlap: while one group of chunks is embedded, the workers read the files of the
next group and the previous group is stored. A group is stored in one transaction, and a file is
never split across groups, so listed files are always complete. A changed file keeps its old
chunks until the new ones replace them.
"""

import errno
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import numpy as np
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from quinion.concurrency import in_thread, together
from quinion.embed.base import Vectors
from quinion.errors import (
    ExtractionFailed,
    FileMissing,
    FileProblem,
    FileUnreadable,
    ModelUnavailable,
    NoContent,
    ToolMissing,
)
from quinion.extract.formats import INDEXED
from quinion.ingest.folders.file_reader import File, read_file
from quinion.ingest.folders.folder_index import FolderIndex
from quinion.ingest.folders.plan import make_plan
from quinion.ingest.folders.scan import check_folder, find_files, is_missing
from quinion.ingest.foreign_text import check_language
from quinion.ingest.progress import Progress, no_progress
from quinion.ingest.source import Source, open_source
from quinion.model.chunk import FileChunk

GROUP_CHUNKS = 512
"""Large enough for sorting by length and bulk writes, small enough to lose on cancellation."""
GROUP_FILES = 64
HALF = 0.5
MAX_REPORTS = 400
MAX_FAILURES = 10_000
"""Failed files that are remembered."""

PROBE = "word"
"""Text that tells a service that is down from one that cannot embed a certain file."""

Problem = FileProblem | ToolMissing | ModelUnavailable
Embedded = tuple[list[File], Vectors]
Fail = Callable[[File, Problem], Awaitable[None]]


@dataclass(slots=True)
class RunResult:
    """Result of a run: what was done with each file found.

    `skipped` are text files without any text, and `errors` files that could not be indexed.
    """

    indexed: dict[str, list[str]] = field(default_factory=dict)
    updated: int = 0
    duplicates: int = 0
    moved: int = 0
    skipped: list[tuple[str, Problem]] = field(default_factory=list)
    errors: list[tuple[str, Problem]] = field(default_factory=list)
    hidden: dict[str, dict[int, int]] = field(default_factory=dict)
    """Number of invisible characters, by path and page number."""
    foreign: list[str] = field(default_factory=list)
    """Paths of files that are mostly not in English, if the local model embeds them."""

    @property
    def total_chunks(self) -> int:
        return sum(map(len, self.indexed.values()))


class Indexer:
    """Indexes files, one run at a time."""

    def __init__(self, index: FolderIndex) -> None:
        self._resources = index.resources
        self._index = index

    async def index_file(self, path: str, progress: Progress) -> tuple[Source, RunResult]:
        """Index one file.

        Raises:
            FileProblem, ToolMissing: the file cannot be indexed.
            StoreUnavailable: the store cannot be read or written.
            ModelUnavailable: the embedding model cannot be used.
        """
        source = await in_thread(self._open, path)
        is_paged = INDEXED[source.path.suffix.lower()].has_pages
        pages = _PageProgress(progress)
        async with self._index.running():
            run = await self._ingest([source], no_progress if is_paged else progress, pages.report)
            self._note_failures([source], run)
        if problems := [*run.errors, *run.skipped]:
            raise problems[0][1]
        await pages.finish()
        return source, run

    async def index_directory(self, path: str, *, recursive: bool, progress: Progress) -> RunResult:
        """Index the files of a folder; files that fail are in `errors`.

        Raises:
            FileMissing, InvalidInput: the folder does not exist or is not a folder.
            StoreUnavailable, ModelUnavailable: the store or the embedding model failed, not only
                for certain files; files stored before that stay indexed.
        """
        async with self._index.running():
            sources, errors = await in_thread(self._scan_folder, path, recursive)
            run = await self._ingest(sources, progress, no_progress)
            run.errors = sorted([*errors, *run.errors], key=lambda error: error[0])
            self._note_failures(sources, run)
            run.skipped.sort(key=lambda error: error[0])
            return run

    def _open(self, path: str) -> Source:
        roots = self._resources.settings.read_roots
        return open_source(path, INDEXED, roots, self._index.digests)

    def _scan_folder(
        self, path: str, recursive: bool
    ) -> tuple[list[Source], list[tuple[str, Problem]]]:
        """The files of the folder, and the paths that cannot be indexed."""
        folder = Path(path)
        roots = self._resources.settings.read_roots
        # An empty path does not mean the working directory of this process.
        if not path or (roots and not _is_within(folder, roots)):
            raise FileMissing(f"Directory not found: {folder}")
        check_folder(folder)
        try:
            files = list(find_files(folder, INDEXED, recursive=recursive))
        except OSError as error:  # deleted in the meantime
            raise FileMissing(f"Directory not found: {folder}") from error
        sources: list[Source] = []
        errors: list[tuple[str, Problem]] = []
        for found in files:
            if isinstance(found, OSError):
                errors.append(_describe_unreadable(found))
                continue
            try:
                sources.append(self._open(str(found)))
            except FileProblem as error:
                errors.append((str(found), error))
        return sources, errors

    async def _ingest(
        self, sources: Sequence[Source], files: Progress, pages: Progress
    ) -> RunResult:
        """Synchronize the index with these files.

        `files` receives progress in files, `pages` progress in pages of a PDF.
        """
        await self._index.declare()
        known = await self._index.known()
        plan = await in_thread(make_plan, sources, known, is_missing)
        run = RunResult(duplicates=len(plan.duplicates) + len(plan.moved), moved=len(plan.moved))
        files_done = _FileProgress(files, len(sources), run.duplicates)
        await files_done.begin()
        for move in plan.moved:
            await self._index.move(move)
        pending = iter([*plan.new, *plan.changed])
        to_embed, read = anyio.create_memory_object_stream[File]()
        to_store, embedded = anyio.create_memory_object_stream[Embedded]()

        async def read_some() -> None:
            for source in pending:
                path = str(source.path)
                try:
                    file = await self._read(source, pages)
                except (FileProblem, ToolMissing) as error:
                    if isinstance(error, NoContent) and path in known:
                        await self._index.remove(path)
                    left_out = run.skipped if _is_empty_text(source, error) else run.errors
                    left_out.append((path, error))
                    await files_done.add(source.path.name)
                else:
                    await files_done.add_read(source.path.name)
                    await to_embed.send(file)

        async def read_all() -> None:
            async with to_embed:
                await together(*[read_some] * self._resources.workers.size)

        async def store_all() -> None:
            async with embedded:
                async for group, vectors in embedded:
                    # Store embedded groups even on failure or cancellation: it is quick.
                    with anyio.CancelScope(shield=True):
                        run.indexed.update(await self._index.put(group, vectors))
                    run.hidden.update({file.path: file.hidden for file in group if file.hidden})
                    run.foreign += filter(None, map(self._find_foreign, group))
                    run.updated += sum(file.path in known for file in group)
                    await files_done.add_stored(group)

        async def fail(file: File, error: Problem) -> None:
            run.errors.append((file.path, error))
            await files_done.add_stored([file])

        await together(read_all, partial(self._embed_all, read, to_store, fail), store_all)
        for path in plan.stale:
            await self._index.remove(path)
        _skip_copies(run, sources, plan.duplicates)
        return run

    def _note_failures(self, sources: Sequence[Source], run: RunResult) -> None:
        failures = self._index.failures
        for source in sources:
            failures.pop(str(source.path), None)
        failures.update({path: error.message for path, error in run.errors})
        for path in list(failures)[:-MAX_FAILURES]:
            del failures[path]

    def _find_foreign(self, file: File) -> str:
        """Return the path of a file that the local model was not made for, else an empty text."""
        is_judged = self._resources.settings.docvec_backend == "local" and file.format.is_prose
        texts = (chunk.text for chunk in file.chunks)
        return file.path if is_judged and check_language(file.source.path.name, texts) else ""

    async def _read(self, source: Source, pages: Progress) -> File:
        kind = INDEXED[source.path.suffix.lower()]
        size = self._resources.settings.docvec_chunk_size
        file = await read_file(self._resources, source, kind, size, pages)
        if not file.chunks:
            raise NoContent(f"{source.path.name} is empty: there is no text in it.")
        return file

    async def _embed_all(
        self,
        read: MemoryObjectReceiveStream[File],
        to_store: MemoryObjectSendStream[Embedded],
        fail: Fail,
    ) -> None:
        async with read, to_store:
            async for group in _groups(read):
                try:
                    await to_store.send((group, await self._embed(group)))
                except ModelUnavailable:
                    await self._embed_each(group, to_store, fail)

    async def _embed_each(
        self, group: Sequence[File], to_store: MemoryObjectSendStream[Embedded], fail: Fail
    ) -> None:
        """Embed file by file, so that a file that the model cannot embed fails alone.

        Raises:
            ModelUnavailable: the model cannot embed anything.
        """
        for file in group:
            try:
                await to_store.send(([file], await self._embed([file])))
            except ModelUnavailable as error:
                await in_thread(self._index.embedder.embed, [PROBE])
                await fail(file, error)

    async def _embed(self, files: Sequence[File]) -> Vectors:
        """A vector for each chunk, in order; duplicate texts are embedded once."""
        texts = [_text_to_embed(chunk) for file in files for chunk in file.chunks]
        positions = {text: position for position, text in enumerate(dict.fromkeys(texts))}
        unique = list(positions)
        parts = [
            await in_thread(self._index.embedder.embed, unique[start : start + GROUP_CHUNKS])
            for start in range(0, len(unique), GROUP_CHUNKS)
        ]
        vectors: Vectors = np.concatenate(parts)[[positions[text] for text in texts]]
        return vectors


class _FileProgress:
    """Progress of a run, in files: one half when a file is read, the other when it is stored.

    Of very many files not each is reported: a client may need a millisecond for a report.
    """

    def __init__(self, progress: Progress, total: int, done: float) -> None:
        self._progress, self._total, self._done = progress, total, done
        self._reported = done

    async def begin(self) -> None:
        message = f"{self._done:g} of {self._total} files are indexed already"
        await self._progress(self._done, self._total, message)

    async def add_read(self, name: str) -> None:
        """Count a file as half done."""
        await self._add(HALF, f"read {name}")

    async def add_stored(self, files: Sequence[File]) -> None:
        """Count files as done that were half done."""
        await self._add(HALF * len(files), f"indexed up to {files[-1].source.path.name}")

    async def add(self, name: str) -> None:
        """Count a file as done that was not read."""
        await self._add(1, f"left out {name}")

    async def _add(self, count: float, what: str) -> None:
        self._done += count
        if self._done - self._reported < self._total / MAX_REPORTS and self._done < self._total:
            return
        self._reported = self._done
        await self._progress(
            self._done, self._total, f"{what}, {int(self._done)} of {self._total} files indexed"
        )


class _PageProgress:
    """Progress of one file, in pages; `finish` completes it if any page was reported."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._total = progress, 0.0

    async def report(self, done: float, total: float, message: str) -> None:
        self._total = total
        await self._progress(done, total, message)

    async def finish(self) -> None:
        if self._total:
            await self._progress(self._total, self._total, "indexed")


def _skip_copies(run: RunResult, sources: Sequence[Source], duplicates: Sequence[Source]) -> None:
    """Count duplicates of a skipped file as skipped: their content is not in the index."""
    reasons = dict(run.skipped)
    hashes = {one.sha256: reasons[str(one.path)] for one in sources if str(one.path) in reasons}
    copies = [(str(one.path), hashes[one.sha256]) for one in duplicates if one.sha256 in hashes]
    run.duplicates -= len(copies)
    run.skipped += copies


def _is_empty_text(source: Source, error: Problem) -> bool:
    """Whether a text file has nothing to index. Pages without text may be a scan that failed."""
    return isinstance(error, NoContent) and not INDEXED[source.path.suffix.lower()].has_pages


def _describe_unreadable(found: OSError) -> tuple[str, Problem]:
    """The path and the error of an entry that `find_files` could not read."""
    name = os.fsencode(found.filename).decode(errors="replace")
    if found.errno == errno.EILSEQ:
        return name, ExtractionFailed(f"The name of {name} is not text in UTF-8. Rename it.")
    return name, FileUnreadable(f"The folder {name} may not be read by this server.")


def _is_within(folder: Path, roots: Sequence[Path]) -> bool:
    try:
        real = folder.resolve()
    except (OSError, ValueError, RuntimeError):  # contains NUL, is too long, or links in a loop
        return False
    return any(real.is_relative_to(root) for root in roots)


async def _groups(files: MemoryObjectReceiveStream[File]) -> AsyncIterator[list[File]]:
    """Group files so that each group has enough chunks for efficient embedding and storing."""
    group: list[File] = []
    async for file in files:
        group.append(file)
        if len(group) == GROUP_FILES or sum(len(f.chunks) for f in group) >= GROUP_CHUNKS:
            yield group
            group = []
    if group:
        yield group


def _text_to_embed(chunk: FileChunk) -> str:
    """The text to embed: the chunk, preceded by its heading unless the text includes it."""
    return f"{chunk.heading}\n{chunk.text}" if chunk.heading else chunk.text
