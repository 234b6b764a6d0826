"""Do the registry and the chunks agree?"""

from collections import defaultdict

from quinion.pipeline.engine import Engine
from quinion.servers.document_store.records import CHUNKS, REGISTRY


async def find_problems(engine: Engine) -> list[str]:
    """A line for each disagreement; none is good news."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for record in await engine.get(CHUNKS):
        places[str(record.metadata["document_id"])].append(int(record.metadata["chunk_index"]))
    listed = {r.id: int(r.metadata["chunk_count"]) for r in await engine.get(REGISTRY)}
    problems = [
        f"{id_}: {len(places[id_])} chunks are stored, and the registry says {count}"
        for id_, count in listed.items()
        if sorted(places[id_]) != list(range(count))
    ]
    return problems + [
        f"{id_}: {len(found)} chunks are stored of a document that the registry does not have"
        for id_, found in places.items()
        if id_ not in listed
    ]
