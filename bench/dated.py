"""Cost of dated against undated searches of the Policy KB, with many chunks.

    python -m bench.dated [--chunks 100000] [--queries 300]

The chunks are synthetic (random unit vectors around a few hundred centres, the specs' metadata),
so only the search is measured: registry, filter and Chroma, without MCP. Dated and undated
searches alternate, so background load affects both alike.
"""

import argparse
import random
import statistics
import tempfile
from collections.abc import Awaitable, Callable
from datetime import date
from functools import partial
from pathlib import Path
from time import perf_counter

import anyio
import numpy as np

from quinion.concurrency import in_thread
from quinion.embed.base import Vectors
from quinion.engine import open_engine
from quinion.ingest.policies import KnowledgeBase
from quinion.model.policy import (
    PolicyCategory,
    PolicyDraft,
    RevisionDraft,
    RevisionStatus,
    RevisionUpdate,
)
from quinion.model.record import Record
from quinion.model.section import SectionChunk
from quinion.servers import policy_kb
from quinion.servers.policy_kb.lookup import search
from quinion.servers.policy_kb.records import CHUNKS, chunk_records
from quinion.settings import Settings
from quinion.store.collections import Write

REVISIONS = [date(2012, 3, 27), date(2018, 7, 24), date(2021, 7, 20), date(2024, 12, 12)]
CHUNKS_PER_REVISION = 500
CENTRES = 300
DIMENSIONS = 384
TARGET = 2.0
WORDS = ["transport", "flood", "heritage", "density", "parking", "noise", "trees", "design"]


def make_vectors(count: int, dice: np.random.Generator, centres: Vectors) -> Vectors:
    near = centres[dice.integers(len(centres), size=count)]
    vectors: Vectors = (
        near + 0.6 * dice.normal(size=near.shape).astype(np.float32) / DIMENSIONS**0.5
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


async def fill(knowledge: KnowledgeBase, chunks: int) -> None:
    """Store policies with four revisions each, until the number of chunks is reached."""
    dice = np.random.default_rng(1)
    centres = dice.normal(size=(CENTRES, DIMENSIONS)).astype(np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    registry = await knowledge.registry()
    for number in range(max(1, chunks // CHUNKS_PER_REVISION // len(REVISIONS))):
        source = f"POLICY_{number}"
        category = PolicyCategory.LOCAL_PLAN
        policy = await in_thread(
            registry.create_policy, PolicyDraft(source, f"Policy {number}", category)
        )
        for day in REVISIONS:
            draft = RevisionDraft(f"{day:%B %Y}", day)
            revision = (await in_thread(registry.create_revision, source, draft)).revision
            parts = [
                SectionChunk(
                    i, f"Text {i} of {source}.", f"Para {i}", (f"Para {i}",), (1,), i, 0, 1
                )
                for i in range(CHUNKS_PER_REVISION)
            ]
            records = chunk_records(policy, revision, parts, "0" * 64)
            vectors = make_vectors(len(parts), dice, centres)
            await knowledge.resources.collections.write(partial(store, records, vectors))
            update = RevisionUpdate(RevisionStatus.ACTIVE, chunk_count=len(parts))
            await in_thread(registry.update_revision, source, revision.revision_id, update)
    await knowledge.sync()


def store(records: list[Record], vectors: Vectors, write: Write) -> None:
    write.upsert(CHUNKS, records, vectors)


async def timed(search: Callable[[], Awaitable[object]]) -> float:
    begun = perf_counter()
    await search()
    return (perf_counter() - begun) * 1000


async def measure(chunks: int, queries: int) -> float:
    dice = random.Random(2)
    with tempfile.TemporaryDirectory(prefix="quinion-bench-") as home:
        async with open_engine(Settings(home=Path(home))) as engine:
            knowledge = policy_kb.open_knowledge(engine)
            begun = perf_counter()
            await fill(knowledge, chunks)
            print(f"{chunks:,} chunks stored in {perf_counter() - begun:.0f} s")
            dated: list[float] = []
            undated: list[float] = []
            for turn in range(queries + 20):
                query = " ".join(dice.sample(WORDS, 3)) + f" {turn}"
                day = date(dice.randint(2013, 2026), dice.randint(1, 12), dice.randint(1, 28))
                with_date = await timed(lambda: search(knowledge, query, 10, [], day))  # noqa: B023
                without = await timed(lambda: search(knowledge, query, 10, [], None))  # noqa: B023
                if turn >= 20:  # warm-up
                    dated.append(with_date)
                    undated.append(without)
    print("| search | p50 ms | p99 ms |\n|---|---|---|")
    for name, times in (("undated", undated), ("dated", dated)):
        parts = statistics.quantiles(times, n=100)
        print(f"| {name} | {parts[49]:.1f} | {parts[98]:.1f} |")
    ratio = statistics.median(dated) / statistics.median(undated)
    print(f"A dated search costs {ratio:.2f} times an undated one (target: at most {TARGET}).")
    return ratio


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=300)
    options = parser.parse_args()
    raise SystemExit(anyio.run(measure, options.chunks, options.queries) > TARGET)
