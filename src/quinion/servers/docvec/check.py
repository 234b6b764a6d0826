"""Integrity check of DocVec: compares the list of files with the chunks, in every index."""

from collections import defaultdict
from collections.abc import Mapping

from quinion.concurrency import in_thread
from quinion.ingest.engine_resources import Resources
from quinion.ingest.folders.folder_index import FolderIndex
from quinion.ingest.folders.records import IndexCollections
from quinion.store.base import Selector


async def find_indexes(index: FolderIndex) -> list[IndexCollections]:
    """The configured index and all others in the store."""
    names = map(IndexCollections.index_name, await in_thread(index.resources.store.collections))
    return [IndexCollections(name) for name in dict.fromkeys((index.names.name, *names)) if name]


async def list_collection_names(index: FolderIndex) -> list[str]:
    """Names of all collections to verify."""
    return [
        name
        for collections in await find_indexes(index)
        for name in (collections.chunks, collections.files)
    ]


async def find_problems(index: FolderIndex) -> list[str]:
    """One line per inconsistency; an empty list means the index is consistent."""
    return [
        f"{path}: {problem}"
        for collections in await find_indexes(index)
        for path, problem in (await _find_broken(index.resources, collections)).items()
    ]


async def unlist_broken(index: FolderIndex) -> list[str]:
    """Remove files with missing or mismatched chunks from the list; one line for each.

    The next indexing run reads them again. Their chunks stay until then.
    """
    unlisted = []
    for collections in await find_indexes(index):
        listed = {record.id for record in await index.resources.collections.get(collections.files)}
        for path, problem in (await _find_broken(index.resources, collections)).items():
            if path in listed:
                await index.resources.collections.delete(
                    [Selector.by_ids(collections.files, [path])]
                )
                unlisted.append(f"{path}: {problem}. Taken off the list; index it again")
    return unlisted


async def _find_broken(resources: Resources, collections: IndexCollections) -> dict[str, str]:
    """The problem of each inconsistent file, by path.

    Gaps between chunks are allowed: single chunks may have been deleted.
    """
    hashes: defaultdict[str, set[str]] = defaultdict(set)
    for record in await resources.collections.get(collections.chunks):
        hashes[str(record.metadata["source_file"])].add(str(record.metadata["doc_hash"]))
    broken = dict.fromkeys(hashes, "it has chunks, and is not listed: index it again")
    for record in await resources.collections.get(collections.files):
        found = hashes.get(record.id)
        if not found:
            broken[record.id] = "it is listed, and has no chunks"
        elif found - {str(record.metadata["doc_hash"])}:
            broken[record.id] = "its chunks are not those of the content that is listed"
        else:
            del broken[record.id]
    return broken


async def name_originals(index: FolderIndex) -> Mapping[str, str]:
    """Map the hashes of all indexed files to their paths."""
    return {
        str(record.metadata["doc_hash"]): record.id
        for collections in await find_indexes(index)
        for record in await index.resources.collections.get(collections.files)
    }
