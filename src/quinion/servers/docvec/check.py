"""Do the list of files and the chunks agree?"""

from collections import defaultdict

from quinion.servers.docvec.index import Index


async def find_problems(index: Index) -> list[str]:
    """A line for each disagreement; none is good news.

    Single chunks may have been deleted, so that there are gaps is none.
    """
    hashes: defaultdict[str, set[str]] = defaultdict(set)
    for record in await index.engine.get(index.shelf.chunks):
        hashes[str(record.metadata["source_file"])].add(str(record.metadata["doc_hash"]))
    listed = await index.known()
    problems = [
        f"{path}: its chunks are not those of the content that is listed"
        for path, sha256 in listed.items()
        if hashes[path] - {sha256}
    ]
    problems += [f"{path}: it is listed, and has no chunks" for path in listed if not hashes[path]]
    return problems + [
        f"{path}: it has chunks, and is not listed" for path in hashes if path not in listed
    ]
