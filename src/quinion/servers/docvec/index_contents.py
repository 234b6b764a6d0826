"""Index statistics, files with their states, and the indexed text of a file."""

import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict

from quinion.concurrency import in_thread
from quinion.errors import FileMissing, InvalidInput
from quinion.ingest.folders.folder_index import FolderIndex
from quinion.model.record import is_flagged
from quinion.servers.docvec.answers import Files, FolderFiles, ListedFile, Stats
from quinion.servers.invisible_text import note
from quinion.servers.response_size import how_many_fit

JOINT = "\n\n"


async def describe(index: FolderIndex, from_file: int = 0) -> Stats:
    """Statistics of the index and its files from `from_file` on, as many as fit the response."""
    files = sorted(await index.known())
    rest = files[from_file:]
    # A path may appear twice: in `source_files` and in `vanished_files`.
    count = how_many_fit([[path, path] for path in rest])
    shown = rest[:count]
    return Stats(
        total_chunks=await index.count(),
        unique_files=len(files),
        source_files=shown,
        vanished_files=await index.find_vanished(shown),
        next_file=from_file + count if count < len(rest) else None,
    )


async def list_files(index: FolderIndex, folder: str | None, offset: int, limit: int) -> Files:
    """A part of the files with their states, those that failed first, and all folders."""
    known = await index.list_paths()
    failed = [path for path in index.failures if path not in known]
    by_folder = await in_thread(_group, [*failed, *known])
    chosen = by_folder.get(folder, []) if folder is not None else [*failed, *known]
    paths = await in_thread(sorted, chosen)
    if failed:
        late = set(failed)
        paths = [*(one for one in paths if one in late), *(one for one in paths if one not in late)]
    checked = await index.check(paths[offset : offset + limit])
    return Files(
        total_chunks=await index.count(),
        unique_files=len(known),
        folders=[
            FolderFiles(path=path, files=len(some)) for path, some in sorted(by_folder.items())
        ],
        files=[ListedFile.model_validate(asdict(one)) for one in checked],
        has_more=len(paths) > offset + limit,
    )


async def read_file(index: FolderIndex, path: str, from_chunk: int) -> tuple[str, int | None]:
    """The indexed text of a file from `from_chunk` on, and the next chunk, if there is one.

    Returns as many chunks as fit the response, separated by empty lines. The file on disk is not
    read and may no longer exist.

    Raises:
        FileMissing: the file is not indexed.
        InvalidInput: the file has fewer chunks.
    """
    if not await index.resources.collections.get(index.names.files, ids=[path]):
        raise FileMissing(
            f"{path} is not indexed. get_index_stats lists what is; index_file adds a file."
        )
    chunks = await index.resources.collections.get(index.names.chunks, where={"source_file": path})
    if from_chunk >= len(chunks):
        raise InvalidInput(f"from_chunk is {from_chunk}, but {path} has {len(chunks)} chunks.")
    chunks.sort(key=lambda chunk: int(chunk.metadata["chunk_index"]))
    rest = [chunk.text for chunk in chunks[from_chunk:]]
    count = max(1, how_many_fit(rest))
    shown = chunks[from_chunk : from_chunk + count]
    text = note(JOINT.join(rest[:count]), any(is_flagged(chunk.metadata) for chunk in shown))
    return text, from_chunk + count if count < len(rest) else None


def _group(paths: Iterable[str]) -> dict[str, list[str]]:
    by_folder: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        by_folder[os.path.dirname(path)].append(path)  # noqa: PTH120 - a Path for each is slow
    return by_folder
