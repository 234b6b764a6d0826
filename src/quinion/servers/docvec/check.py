"""Do the list of files and the chunks agree, in every collection that DocVec has here?"""

from collections import defaultdict

from quinion.pipeline.engine import Engine
from quinion.servers.docvec.index import Index
from quinion.servers.docvec.records import Shelf


async def find_shelves(index: Index) -> list[Shelf]:
    """The one that is configured, and all others that were ever written to."""
    names = map(Shelf.name_of, await index.engine.collections())
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


async def drop_broken(index: Index) -> list[str]:
    """Take out the files that are not whole, so that they are read again; a line for each."""
    dropped = []
    for shelf in await find_shelves(index):
        for path, problem in (await _find_broken(index.engine, shelf)).items():
            if copy := await index.engine.put_away(shelf.all_of(path)):
                dropped.append(f"{path}: {problem}. Dropped, index it again; a copy is {copy}")
    return dropped


async def _find_broken(engine: Engine, shelf: Shelf) -> dict[str, str]:
    """What is wrong with each file that is not whole, by its path.

    Single chunks may have been deleted, so that there are gaps is nothing wrong.
    """
    hashes: defaultdict[str, set[str]] = defaultdict(set)
    for record in await engine.get(shelf.chunks):
        hashes[str(record.metadata["source_file"])].add(str(record.metadata["doc_hash"]))
    broken = dict.fromkeys(hashes, "it has chunks, and is not listed")
    for record in await engine.get(shelf.files):
        found = hashes.get(record.id)
        if not found:
            broken[record.id] = "it is listed, and has no chunks"
        elif found - {str(record.metadata["doc_hash"])}:
            broken[record.id] = "its chunks are not those of the content that is listed"
        else:
            del broken[record.id]
    return broken
