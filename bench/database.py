"""Store in PostgreSQL beside the embedded store: writing, searching and recall.

    python -m bench.database [COUNT]

Fills both stores with the same synthetic chunks (clustered unit vectors of 384 dimensions, texts of
100 words), 100 chunks per transaction, and prints rates, times of searches and recall. The server
is that of the tests, with its defaults (128 MB of shared buffers) and without fsync.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from time import perf_counter

import numpy as np
import psutil

from quinion.lexical.word_query import parse_query
from quinion.model.record import Record
from quinion.store.base import Candidates, Vectors, VectorStore
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.filters import Where
from quinion.store.postgres.store import PostgresStore
from tests.postgres_server import PostgresServer, postgres_server

COLLECTION = "chunks"
DIMENSIONS = 384
CLUSTERS = 2_000
NOISE = 0.5
DOCUMENT = 20
STEP = 100
WORDS = 20_000
QUERIES = 100
LIMIT = 10
FILTERS: dict[str, Where | None] = {
    "no filter": None,
    "one document": {"document": 7},
    "one type of four": {"type": "t1"},
    "dates (a third)": {"day": {"$gte": 20, "$lt": 50}},
}


def make_vectors(count: int, random: np.random.Generator, centres: Vectors) -> Vectors:
    """Unit vectors around the centres."""
    noise = random.normal(size=(count, DIMENSIONS)).astype(np.float32)
    found = centres[random.integers(len(centres), size=count)] + NOISE * noise
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def make_records(first: int, random: np.random.Generator) -> list[Record]:
    """Chunks with metadata; words are distributed as in a language."""
    words = random.zipf(1.2, size=(STEP, 100)) % WORDS
    return [
        Record(
            f"chunk {n}",
            " ".join(f"w{word}" for word in words[n - first]),
            {"document": n // DOCUMENT, "type": f"t{n % 4}", "day": n % 90, "chunk_index": n},
        )
        for n in range(first, first + STEP)
    ]


def batches(count: int, vectors: Vectors) -> Iterator[tuple[list[Record], Vectors]]:
    random = np.random.default_rng(2)
    for first in range(0, count, STEP):
        yield make_records(first, random), vectors[first : first + STEP]


def fill(store: VectorStore, count: int, vectors: Vectors, used_s: Callable[[], float]) -> None:
    """Write all chunks, and print the rate for each tenth."""
    begun, used = perf_counter(), used_s()
    for number, (records, some) in enumerate(batches(count, vectors), 1):
        with store.transaction() as transaction:
            transaction.upsert(COLLECTION, records, some, "model")
        if number * STEP % (count // 10) == 0:
            now, used_now = perf_counter(), used_s()
            rate, cpu = count / 10 / (now - begun), count / 10 / (used_now - used)
            print(f"  up to {number * STEP:,}: {rate:,.0f} chunks/s, {cpu:,.0f} per CPU-second")
            begun, used = now, used_now


def find_exactly(query: Vectors, vectors: Vectors, where: Where | None) -> set[int]:
    numbers = np.arange(len(vectors))
    masks = {
        None: numbers >= 0,
        "document": numbers // DOCUMENT == 7,
        "type": numbers % 4 == 1,
        "day": (numbers % 90 >= 20) & (numbers % 90 < 50),
    }
    scores = np.where(masks[next(iter(where)) if where else None], vectors @ query, -2)
    return {*np.argsort(-scores)[:LIMIT].tolist()}


def search(store: VectorStore, queries: Vectors, vectors: Vectors) -> None:
    """Print times and recall of each kind of search."""
    for name, where in FILTERS.items():
        times, found = [], 0
        for query in queries:
            begun = perf_counter()
            hits = store.search_vectors(COLLECTION, query[None], LIMIT, where)
            times.append(perf_counter() - begun)
            wanted = find_exactly(query, vectors, where)
            found += len(wanted & {int(hit.record.id.split()[1]) for hit in hits})
        show(name, times, f"recall@{LIMIT} {found / LIMIT / len(queries):.3f}")
    random = np.random.default_rng(4)
    times = []
    for query in queries:
        words = parse_query(" ".join(f"w{word}" for word in random.zipf(1.2, 4) % WORDS))
        begun = perf_counter()
        store.search_words(COLLECTION, words, query[None], LIMIT, rank, nearest=100)
        times.append(perf_counter() - begun)
    show("hybrid, four words", times, "")


def rank(candidates: Candidates) -> Vectors:
    return candidates.cosines + candidates.words


def show(name: str, times: list[float], more: str) -> None:
    p50, p99 = np.percentile(np.array(times) * 1e3, (50, 99))
    print(f"  {name}: p50 {p50:.1f} ms, p99 {p99:.1f} ms {more}")


def change_dates(store: VectorStore) -> None:
    """Print the time of a change of the dates of a document, as a supersession writes it."""
    from quinion.store.base import Selector

    times = []
    for number in range(QUERIES):
        begun = perf_counter()
        with store.transaction() as transaction:
            selector = Selector.by_values(COLLECTION, document=number)
            assert transaction.update_metadata(selector, {"day": number}) == DOCUMENT
        times.append(perf_counter() - begun)
    show(f"new dates on {DOCUMENT} chunks", times, "")


def measure_server(server: PostgresServer) -> float:
    """Seconds of processor time of the server and of this process."""
    process = psutil.Process(server.process.pid)
    total = sum(psutil.Process().cpu_times()[:2])
    for one in (process, *process.children()):
        total += sum(one.cpu_times()[:2])
    return total


def measure_own() -> float:
    return sum(psutil.Process().cpu_times()[:2])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.database", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100_000)
    count = parser.parse_args().count
    random = np.random.default_rng(1)
    centres = random.normal(size=(CLUSTERS, DIMENSIONS)).astype(np.float32)
    vectors = make_vectors(count, random, centres)
    queries = make_vectors(QUERIES, np.random.default_rng(3), centres)
    with tempfile.TemporaryDirectory(prefix="quinion-bench-") as folder:
        print(f"embedded, {count:,} chunks")
        with closing(EmbeddedStore(Path(folder))) as store:
            fill(store, count, vectors, measure_own)
            search(store, queries, vectors)
            change_dates(store)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        print(f"  disk {size / 1e6:,.0f} MB")
    with postgres_server() as server:
        print(f"PostgreSQL, {count:,} chunks")
        with closing(PostgresStore(server.url)) as store:
            fill(store, count, vectors, lambda: measure_server(server))
            server.execute("VACUUM ANALYZE")
            search(store, queries, vectors)
            change_dates(store)
        [(size,)] = server.execute("SELECT pg_database_size(current_database())")
        print(f"  disk {size / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
