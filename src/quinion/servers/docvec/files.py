"""What is indexed, and the text of a file as the index has it."""

from quinion.errors import FileMissing, InvalidInput
from quinion.servers.docvec.answers import Stats
from quinion.servers.docvec.index import Index
from quinion.servers.invisible_text import is_flagged, note
from quinion.servers.response_size import how_many_fit

JOINT = "\n\n"


async def describe(index: Index, from_file: int = 0) -> Stats:
    """How much is indexed, and its files from the given one on, as many as one answer can carry."""
    files = sorted(await index.known())
    rest = files[from_file:]
    # Each may be named twice.
    count = how_many_fit([[path, path] for path in rest])
    shown = rest[:count]
    return Stats(
        total_chunks=await index.count(),
        unique_files=len(files),
        source_files=shown,
        vanished_files=await index.find_vanished(shown),
        next_file=from_file + count if count < len(rest) else None,
    )


async def read_file(index: Index, path: str, from_chunk: int) -> tuple[str, int | None]:
    """The text of an indexed file from the given chunk on, as much of it as one answer can carry,
    and the chunk that it goes on from, if it does.

    The chunks are apart by an empty line. The file itself is not looked at: it may be gone.

    Raises:
        FileMissing: it is not indexed.
        InvalidInput: it has no such chunk.
    """
    if not await index.engine.get(index.collections.files, ids=[path]):
        raise FileMissing(
            f"{path} is not indexed. get_index_stats lists what is; index_file adds a file."
        )
    chunks = await index.engine.get(index.collections.chunks, where={"source_file": path})
    if from_chunk >= len(chunks):
        raise InvalidInput(f"from_chunk is {from_chunk}, but {path} has {len(chunks)} chunks.")
    chunks.sort(key=lambda chunk: int(chunk.metadata["chunk_index"]))
    rest = [chunk.text for chunk in chunks[from_chunk:]]
    count = max(1, how_many_fit(rest))
    shown = chunks[from_chunk : from_chunk + count]
    text = note(JOINT.join(rest[:count]), any(is_flagged(chunk.metadata) for chunk in shown))
    return text, from_chunk + count if count < len(rest) else None
