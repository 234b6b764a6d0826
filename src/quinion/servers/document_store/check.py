"""Consistency check of the registry and the chunks."""

from collections import defaultdict
from collections.abc import Mapping

from quinion.engine import Engine
from quinion.servers.document_store.records import CHUNKS, REGISTRY


async def find_problems(engine: Engine) -> list[str]:
    """List one line per inconsistency; empty if the data is consistent."""
    return [f"{id_}: {problem}" for id_, problem in (await _find_incomplete(engine)).items()]


async def _find_incomplete(engine: Engine) -> dict[str, str]:
    """Describe the problem of each incomplete document, by document id."""
    indices: defaultdict[str, list[int]] = defaultdict(list)
    for record in await engine.collections.get(CHUNKS):
        indices[str(record.metadata["document_id"])].append(int(record.metadata["chunk_index"]))
    listed = {r.id: int(r.metadata["chunk_count"]) for r in await engine.collections.get(REGISTRY)}
    incomplete = {
        id_: f"{len(indices[id_])} chunks are stored, and the registry says {count}: "
        "ingest it again"
        for id_, count in listed.items()
        if sorted(indices[id_]) != list(range(count))
    }
    return incomplete | {
        id_: f"{len(found)} chunks are stored of a document that the registry does not have: "
        "ingest it again"
        for id_, found in indices.items()
        if id_ not in listed
    }


async def name_originals(engine: Engine) -> Mapping[str, str]:
    """Map the hashes of the documents' files to the documents' ids."""
    documents = await engine.collections.get(REGISTRY)
    return {str(one.metadata["file_hash"]): one.id for one in documents}
