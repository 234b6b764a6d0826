"""Time of hybrid searches against semantic ones, and the size of the keyword index.

    python -m bench.search.cost CORPUS [--chunks 100000] [--queries 300]

The chunks are synthetic: halves of real chunks of judged sets, in random pairs, with random unit
vectors around a few hundred centres. The queries are the sets' questions. The modes alternate, with
and without a filter, so background load affects all alike. A search embeds its query.
"""

import argparse
import os
import random
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter, process_time

import anyio
import numpy as np
import psutil

from bench.dated import make_vectors
from bench.judged_sets import read_cranfield, read_ohrbench
from bench.table import table
from quinion.chunk.recursive import chunk_pages
from quinion.embed.base import Embedder
from quinion.embed.local.embedder import LocalEmbedder
from quinion.model.record import Mode, Record, Scalar
from quinion.search.modes import search
from quinion.store.base import VectorStore
from quinion.store.collections import Collections
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.filters import Where

STEP = 1_000
DIMENSIONS, CENTRES = 384, 300
WARM_UP = 30
LIMIT = 10
FILTERS: dict[str, Where | None] = {
    "none": None,
    "one document type (half)": {"kind": 1},
    "one application (1 %)": {"application_ref": "app/7"},
}


def read_texts(corpus: Path) -> tuple[list[str], list[str]]:
    """Read chunks and questions of judged sets."""
    sets = [read_cranfield(corpus / "cranfield"), read_ohrbench(corpus / "ohrbench")]
    pages = [pages for judged in sets for pages in judged.documents.values()]
    texts = [chunk.text for one in pages for chunk in chunk_pages(one)]
    return texts, [query for judged in sets for query in judged.queries.values()]


def fill(store: VectorStore, texts: Sequence[str], chunks: int) -> float:
    """Write the chunks; return the seconds."""
    dice, picks = np.random.default_rng(1), random.Random(1)
    centres = dice.normal(size=(CENTRES, DIMENSIONS)).astype(np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    took = 0.0
    for first in range(0, chunks, STEP):
        records = []
        for number in range(first, min(first + STEP, chunks)):
            one, other = picks.choice(texts), picks.choice(texts)
            metadata: dict[str, Scalar] = {
                "application_ref": f"app/{number // 50 % 100}",
                "kind": number % 2,
                "source_file": f"Report {number // 50}.pdf",
            }
            text = one[: len(one) // 2] + other[len(other) // 2 :]
            records.append(Record(f"id {number}", text, metadata))
        vectors = make_vectors(len(records), dice, centres)
        began = perf_counter()
        with store.transaction() as transaction:
            transaction.upsert("c", records, vectors, "")
        took += perf_counter() - began
    return took


async def measure(
    store: VectorStore, embedder: Embedder, queries: Sequence[str], count: int
) -> list[list[str]]:
    collections = Collections(store, lambda: "")
    times: defaultdict[tuple[str, Mode], list[float]] = defaultdict(list)
    for turn, query in enumerate(random.Random(2).choices(queries, k=count + WARM_UP)):
        for name, where in FILTERS.items():
            for mode in Mode:
                asked = f"{query} {turn} {name} {mode}"  # embedded each time, not cached
                began = perf_counter()
                await search(collections, embedder, "c", asked, LIMIT, where, mode)
                if turn >= WARM_UP:
                    times[name, mode].append((perf_counter() - began) * 1000)
    rows = []
    for name in FILTERS:
        parts = {mode: statistics.quantiles(times[name, mode], n=100) for mode in Mode}
        rows.append([name, *(f"{parts[m][49]:.1f} / {parts[m][98]:.1f}" for m in Mode)])
        half, most = (parts[Mode.HYBRID][n] / parts[Mode.SEMANTIC][n] for n in (49, 98))
        rows[-1].append(f"{half:.2f} / {most:.2f}")
    return rows


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def main(corpus: Path, chunks: int, count: int) -> None:
    texts, queries = read_texts(corpus / "retrieval")
    process = psutil.Process(os.getpid())
    with tempfile.TemporaryDirectory(prefix="quinion-cost-") as folder:
        embedder = LocalEmbedder(Path(folder) / "models", numerics=None)
        embedder.embed(texts[:1])
        embedder.embed_query("warm up")
        with closing(EmbeddedStore(Path(folder) / "store")) as store:
            began = process_time()
            took = fill(store, texts, chunks)
            print(f"{chunks:,} chunks written in {took:.0f} s, {process_time() - began:.0f} s CPU")
        with closing(EmbeddedStore(Path(folder) / "store")) as store:
            before = process.memory_info().rss
            rows = anyio.run(measure, store, embedder, queries, count)
            grown = process.memory_info().rss - before
            head = ["filter", *(f"{mode} p50 / p99 ms" for mode in Mode), "hybrid : semantic"]
            print(table(head, rows))
            print(
                f"{size(Path(folder) / 'store') / chunks:,.0f} bytes of disk a chunk, of them "
                f"{measure_index(Path(folder) / 'store') / chunks:,.0f} of the keyword index; "
                f"{grown / chunks:,.0f} bytes of memory a chunk"
            )


def measure_index(folder: Path) -> int:
    """Bytes of the keyword index in the database."""
    import sqlite3

    with closing(sqlite3.connect(folder / "store.db")) as database:
        [(found,)] = database.execute(
            "SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'keyword_%'"
        ).fetchall()
        return int(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=300)
    options = parser.parse_args()
    main(options.corpus, options.chunks, options.queries)
