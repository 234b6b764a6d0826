"""Console: processor time and size of each view, of a large home.

    python -m bench.console [--documents 100000] [--runs 5]
    python -m bench.console --start [--runs 5]

The home has that many documents of one chunk each in the Document Store, and as many indexed files.
Vectors are random: only their number matters here. Each view is asked for once, and then `--runs`
times; the table has the first and the median processor time of the whole process, and the bytes of
the page.

With --start, `quinion serve` is started in turn with and without the console, which nobody opens.
The table has the medians of the processor time until it is ready, and of its memory then.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import httpx2
import numpy as np

from bench.processes import measure_cpu_s, measure_memory_mb
from quinion.console.open import open_console
from quinion.console.session import Sessions
from quinion.engine import Engine, open_engine
from quinion.ingest.applications.records import IngestedDocument
from quinion.ingest.folders.records import CHUNKS as FILE_CHUNKS
from quinion.ingest.folders.records import FILES
from quinion.ingest.page_quality import PageQuality
from quinion.model.page import Method
from quinion.model.record import Metadata, Record
from quinion.servers.document_store import records
from quinion.servers.registry import CATALOG
from quinion.settings import Settings
from quinion.store.collections import Write
from quinion.telemetry.metrics import Family

BATCH = 2_000
DIMENSIONS = 384
INDEX = "documents"
ADDRESS = "http://127.0.0.1:3000"
WORDS = ("hedge", "towpath", "drainage", "parking", "listed", "canal", "access", "bridge", "noise")


def make_records(numbers: range) -> dict[str, list[Record]]:
    """Make documents with one chunk each, and indexed files with one chunk each."""
    made: dict[str, list[Record]] = {records.REGISTRY: [], records.CHUNKS: []}
    files, chunks = f"{FILES}{INDEX}", f"{FILE_CHUNKS}{INDEX}"
    made |= {files: [], chunks: []}
    now = datetime.now(UTC)
    for number in numbers:
        text = f"Document {number} is about {WORDS[number % 9]} and {WORDS[number // 9 % 9]}."
        document = IngestedDocument(
            id=f"26_{number // 50:05d}_FUL_{number:06x}",
            file_path=Path(f"/plans/{number // 50:05d}/Statement {number}.pdf"),
            file_hash=f"{number:064x}",
            application_ref=f"26/{number // 50:05d}/FUL",
            document_type="planning_statement",
            chunk_count=1,
            ingested_at=now,
            extraction_method=Method.TEXT_LAYER,
            contains_drawings=False,
            quality=PageQuality(3, empty=(2,)),
        )
        made[records.REGISTRY].append(records.registry_record(document))
        metadata: Metadata = {
            "application_ref": document.application_ref,
            "document_id": document.id,
            "source_file": document.file_path.name,
            "document_type": document.document_type,
            "page_numbers": "1",
            "chunk_index": 0,
            "total_chunks": 1,
            "extraction_method": "text_layer",
            "char_count": len(text),
            "word_count": len(text.split()),
        }
        made[records.CHUNKS].append(Record(f"{document.id}_001_000", text, metadata))
        path = f"/notes/{number // 100:04d}/{number}.md"
        of_file: Metadata = {"doc_hash": f"{number:064x}", "file_format": "markdown"}
        made[files].append(
            Record(path, path, {**of_file, "total_tokens": 9, "indexed_at": now.isoformat()})
        )
        of_chunk: Metadata = {**of_file, "source_file": path, "chunk_index": 0, "token_count": 9}
        made[chunks].append(Record(f"{number:024x}_0", text, of_chunk))
    return made


async def fill(engine: Engine, count: int) -> None:
    """Store the documents and files."""
    random = np.random.default_rng(1)
    for start in range(0, count, BATCH):
        made = make_records(range(start, min(count, start + BATCH)))

        def store(write: Write, made: dict[str, list[Record]] = made) -> None:
            for collection, some in made.items():
                is_chunk = collection == records.CHUNKS or collection.startswith(FILE_CHUNKS)
                vectors = random.standard_normal((len(some), DIMENSIONS if is_chunk else 1))
                write.upsert(collection, some, vectors.astype(np.float32))

        await engine.collections.write(store)


@asynccontextmanager
async def open_client(engine: Engine, settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """Open the console of the engine in a client with a session."""
    servers = {
        name: cache(lambda entry=entry: entry.load().build(engine))
        for name, entry in CATALOG.items()
    }

    def measure() -> Iterator[Family]:
        for server in servers.values():
            yield from server().measure(engine.count)
        yield from engine.measure()

    sessions = Sessions(settings.home, None)
    async with (
        open_console(settings, sessions, servers, measure) as app,
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=ADDRESS) as client,
    ):
        await client.get("/", params={"key": sessions.make_key()})
        yield client


async def run(count: int, runs: int, home: Path) -> None:
    """Fill a home and print the table."""
    settings = Settings.from_environment({"QUINION_HOME": str(home), "QUINION_MIRROR": "off"})
    async with open_engine(settings) as engine:
        await fill(engine, count)
        views = {
            "start": "/",
            "search, everything": "/?q=hedge+and+canal",
            "search, documents by meaning": "/?q=drainage&kind=documents&mode=semantic",
            "documents": "/documents",
            "documents, part 1,000": f"/documents?part={max(1, count // 100)}",
            "documents of an application": "/documents?application=26/00001/FUL",
            "a document": "/documents/26_00001_FUL_000032",
            "policies": "/policies",
            "library": "/library",
            "folders": "/folders",
            "a folder": "/folders?folder=/notes/0001",
            "health": "/engine",
        }
        print("| view | first, ms | median, ms | page, kB |\n|---|---:|---:|---:|")
        async with open_client(engine, settings) as client:
            for name, path in views.items():
                times = []
                for _ in range(runs + 1):
                    started = time.process_time()
                    answer = await client.get(path)
                    times.append(1_000 * (time.process_time() - started))
                    answer.raise_for_status()
                middle = statistics.median(times[1:])
                size = len(answer.content) / 1_000
                print(f"| {name} | {times[0]:.0f} | {middle:.0f} | {size:.0f} |", flush=True)


def measure_start(option: list[str], home: Path) -> tuple[float, float]:
    """Start the servers; return the processor seconds until they are ready, and their MB."""
    ports = ("DOCUMENT_STORE", "POLICY_KB", "DOCVEC", "DOCLIBRARY", "QUINION_CONSOLE")
    variables = {**os.environ, **{f"{name}_PORT": "0" for name in ports}}
    variables |= {"QUINION_HOME": str(home), "QUINION_MIRROR": "off"}
    command = [str(Path(sys.executable).parent / "quinion"), "serve", *option]
    with subprocess.Popen(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("Connect a client"):
                break
        measured = measure_cpu_s(process.pid), measure_memory_mb(process.pid)
        process.terminate()
    return measured


def compare_starts(runs: int, home: Path) -> None:
    """Print what a start costs with and without the console."""
    found: dict[str, list[tuple[float, float]]] = {"quinion serve": [], "--no-console": []}
    measure_start([], home)  # installs the model
    for _ in range(runs):
        for name, measured in found.items():
            measured.append(measure_start([name] if name.startswith("--") else [], home))
    print("| | processor time, s | memory, MB |\n|---|---:|---:|")
    for name, measured in found.items():
        seconds, megabytes = (statistics.median(column) for column in zip(*measured, strict=True))
        print(f"| `{name}` | {seconds:.2f} | {megabytes:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.console", description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--start", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="quinion-bench-") as scratch:
        if options.start:
            compare_starts(options.runs, Path(scratch))
            return
        anyio.run(run, options.documents, options.runs, Path(scratch))


if __name__ == "__main__":
    main()
