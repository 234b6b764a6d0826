"""Time of hybrid searches against semantic ones, and the size of the keyword index.

    python -m bench.search.cost CORPUS [--chunks 100000] [--copies 1] [--queries 300] [--cold]

The chunks are synthetic: halves of real chunks of judged sets, in random pairs, with random unit
vectors around those of real chunks. The queries are the sets' questions. Each is asked in all
modes, with and without a filter. The order of all searches is random, so that background load
affects all alike, and few searches find in a cache what the one before has read. A search embeds
its query. The last column compares processor time, on which other processes have less influence.
With `--cold`, no postings are cached, as in the first search for each word after a write.

A million chunks are `--chunks 65536 --copies 16`: the texts are written once and copied within the
database, with other vectors and ids. Writing them all would take half an hour.
"""

import argparse
import itertools
import os
import random
import sqlite3
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
from quinion.embed.base import Embedder, Vectors
from quinion.embed.local.embedder import LocalEmbedder
from quinion.model.record import Mode, Record, Scalar
from quinion.search.modes import search
from quinion.store.base import VectorStore
from quinion.store.collections import Collections
from quinion.store.embedded.bitmap import BLOCK as METADATA_BLOCK
from quinion.store.embedded.database import FILE
from quinion.store.embedded.keywords.keyword_index import BLOCK as KEYWORD_BLOCK
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.embedded.vectors.vector_file import VectorFile
from quinion.store.filters import Where
from quinion.store.keywords import postings_cache

STEP = 1_000
CENTRES = 300
WARM_UP = 30
LIMIT = 10
FILTERS: dict[str, Where | None] = {
    "none": None,
    "one document type (half)": {"kind": 1},
    "one application (1 %)": {"application_ref": "app/7"},
}

COPY = """
INSERT INTO records (collection, id, slot, text, metadata, checksum)
    SELECT collection, id || ' copy ' || :copy, slot + :slots, text, metadata, checksum
    FROM records WHERE slot < :first;
INSERT INTO metadata_postings
    SELECT value, block + :slots / :metadata, slots FROM metadata_postings
    WHERE block < :first / :metadata;
INSERT INTO keyword_lengths
    SELECT collection, block + :slots / :keywords, lengths FROM keyword_lengths
    WHERE block < :first / :keywords;
INSERT INTO keyword_postings
    SELECT collection, term, block + :slots / :keywords, postings FROM keyword_postings
    WHERE block < :first / :keywords
"""
"""Appends copies of the first records. Their checksums are wrong, but searches do not read them."""


def read_texts(corpus: Path) -> tuple[list[str], list[str]]:
    """Read chunks and questions of judged sets."""
    sets = [read_cranfield(corpus / "cranfield"), read_ohrbench(corpus / "ohrbench")]
    pages = [pages for judged in sets for pages in judged.documents.values()]
    texts = [chunk.text for one in pages for chunk in chunk_pages(one)]
    return texts, [query for judged in sets for query in judged.queries.values()]


def fill(store: VectorStore, texts: Sequence[str], centres: Vectors, chunks: int) -> float:
    """Write the chunks; return the seconds."""
    dice, picks = np.random.default_rng(1), random.Random(1)
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


def copy(folder: Path, centres: Vectors, chunks: int, copies: int) -> None:
    """Copy the only collection within the database, until there are `copies` of it."""
    if chunks % METADATA_BLOCK:
        raise SystemExit(f"--chunks must be a multiple of {METADATA_BLOCK:,} to be copied.")
    dice = np.random.default_rng(2)
    [vectors], [codes] = folder.glob("*.vectors"), folder.glob("*.codes")
    codes.unlink()  # made again when the store is opened
    with closing(VectorFile(vectors, centres.shape[1])) as file:
        for start in range(chunks, chunks * copies, KEYWORD_BLOCK):
            file.write(
                np.arange(start, start + KEYWORD_BLOCK), make_vectors(KEYWORD_BLOCK, dice, centres)
            )
    with closing(sqlite3.connect(folder / FILE)) as database, database:
        for number in range(1, copies):
            values = {
                **{"copy": number, "slots": chunks * number, "first": chunks},
                **{"metadata": METADATA_BLOCK, "keywords": KEYWORD_BLOCK},
            }
            for statement in COPY.split(";"):
                database.execute(statement, values)


async def measure(
    store: VectorStore, embedder: Embedder, queries: Sequence[str], count: int
) -> list[list[str]]:
    collections = Collections(store, lambda: "")
    times: defaultdict[tuple[str, Mode], list[float]] = defaultdict(list)
    processor: defaultdict[tuple[str, Mode], list[float]] = defaultdict(list)
    picks = random.Random(2)
    chosen = picks.choices(queries, k=count + WARM_UP)
    searches = list(itertools.product(chosen, FILTERS, Mode))
    picks.shuffle(searches)
    for turn, (query, name, mode) in enumerate(searches):
        # Embedded each time instead of cached, but with the same words.
        text = query + " " * (turn % 1_000)
        began, used = perf_counter(), process_time()
        await search(collections, embedder, "c", text, LIMIT, FILTERS[name], mode)
        if turn >= WARM_UP * len(FILTERS) * len(Mode):
            times[name, mode].append((perf_counter() - began) * 1000)
            processor[name, mode].append((process_time() - used) * 1000)
    rows = []
    for name in FILTERS:
        parts = {mode: statistics.quantiles(times[name, mode], n=100) for mode in Mode}
        rows.append([name, *(f"{parts[m][49]:.1f} / {parts[m][98]:.1f}" for m in Mode)])
        for kind in (times, processor):
            parts = {mode: statistics.quantiles(kind[name, mode], n=100) for mode in Mode}
            half, most = (parts[Mode.HYBRID][n] / parts[Mode.SEMANTIC][n] for n in (49, 98))
            rows[-1].append(f"{half:.2f} / {most:.2f}")
    return rows


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def main(corpus: Path, chunks: int, copies: int, count: int) -> None:
    texts, queries = read_texts(corpus / "retrieval")
    process = psutil.Process(os.getpid())
    with tempfile.TemporaryDirectory(prefix="quinion-cost-") as folder:
        embedder = LocalEmbedder(Path(folder) / "models", numerics=None)
        centres = embedder.embed(random.Random(0).sample(texts, CENTRES))
        embedder.embed_query("warm up")
        with closing(EmbeddedStore(Path(folder) / "store")) as store:
            began = process_time()
            took = fill(store, texts, centres, chunks)
            print(f"{chunks:,} chunks written in {took:.0f} s, {process_time() - began:.0f} s CPU")
        if copies > 1:
            copy(Path(folder) / "store", centres, chunks, copies)
            chunks *= copies
        with closing(EmbeddedStore(Path(folder) / "store")) as store:
            before = process.memory_info().rss
            print(f"{chunks:,} chunks", flush=True)
            rows = anyio.run(measure, store, embedder, queries, count)
            grown = process.memory_info().rss - before
            head = [
                "filter",
                *(f"{mode} p50 / p99 ms" for mode in Mode),
                "hybrid : semantic",
                "CPU",
            ]
            print(table(head, rows))
            print(
                f"{size(Path(folder) / 'store') / chunks:,.0f} bytes of disk a chunk, of them "
                f"{measure_index(Path(folder) / 'store') / chunks:,.0f} of the keyword index; "
                f"{grown / chunks:,.0f} bytes of memory a chunk"
            )


def measure_index(folder: Path) -> int:
    """Bytes of the keyword index in the database."""
    with closing(sqlite3.connect(folder / FILE)) as database:
        [(found,)] = database.execute(
            "SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'keyword_%'"
        ).fetchall()
        return int(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args()
    if options.cold:
        postings_cache.MAX_BYTES = 0
    main(options.corpus, options.chunks, options.copies, options.queries)
