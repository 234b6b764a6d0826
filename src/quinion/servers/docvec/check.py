"""Do the list of files and the chunks agree, in every collection that DocVec has here?"""

from collections import defaultdict

from quinion.concurrency import in_thread
from quinion.engine import Engine
from quinion.servers.docvec.index import Index
from quinion.servers.docvec.records import Shelf
from quinion.store.base import Selector


async def find_shelves(index: Index) -> list[Shelf]:
    """The one that is configured, and all others that were ever written to."""
    names = map(Shelf.name_of, await in_thread(index.engine.store.collections))
    return [Shelf(name) for name in dict.fromkeys((index.shelf.name, *names)) if name]


async def name_collections(index: Index) -> list[str]:
    """All that is to be proven."""
    return [name for shelf in await find_shelves(index) for name in (shelf.chunks, shelf.files)]


async def find_problems(index: Index) -> list[str]:
    """A line for each disagreement; none is good news."""
    return [
        f"{path}: {problem}"
        for shelf in await find_shelves(index)
        for path, problem in (await _find_broken(index.engine, shelf)).items()
    ]


async def unlist_broken(index: Index) -> list[str]:
    """Take files whose chunks are missing or of another content off the list, so that the next
    indexing reads them again; a line for each. Their chunks stay until then."""
    unlisted = []
    for shelf in await find_shelves(index):
        listed = {record.id for record in await index.engine.get(shelf.files)}
        for path, problem in (await _find_broken(index.engine, shelf)).items():
            if path in listed:
                await index.engine.delete([Selector.by_ids(shelf.files, [path])])
                unlisted.append(f"{path}: {problem}. Taken off the list; index it again")
    return unlisted


async def _find_broken(engine: Engine, shelf: Shelf) -> dict[str, str]:
    """What is wrong with each incomplete file, by its path.

    Single chunks may have been deleted, so that there are gaps is nothing wrong.
    """
    hashes: defaultdict[str, set[str]] = defaultdict(set)
    for record in await engine.get(shelf.chunks):
        hashes[str(record.metadata["source_file"])].add(str(record.metadata["doc_hash"]))
    broken = dict.fromkeys(hashes, "it has chunks, and is not listed: index it again")
    for record in await engine.get(shelf.files):
        found = hashes.get(record.id)
        if not found:
            broken[record.id] = "it is listed, and has no chunks"
        elif found - {str(record.metadata["doc_hash"])}:
            broken[record.id] = "its chunks are not those of the content that is listed"
        else:
            del broken[record.id]
    return broken
