"""Throughput of 1 to 32 workers with simulated documents: `python -m bench.cluster.scaling`.

Reading is simulated by waiting, so the figures show what the queue, the bucket and the database
cost, not how fast the machine reads. A PostgreSQL server and a shared folder are made for the run.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from quinion.ingest.progress import no_progress
from quinion.ingest.source import Source
from quinion.queue.dispatcher import Dispatcher
from quinion.queue.runner import AT_ONCE
from quinion.queue.tasks import Tasks
from quinion.store.bucket import Bucket
from tests.postgres_server import postgres_server
from tests.queue_worker import KIND

COUNTS = (1, 2, 4, 8, 16, 32)
DOCUMENT = os.urandom(200_000)


@contextmanager
def workers(url: str, folder: str, count: int) -> Iterator[None]:
    command = [sys.executable, "-m", "tests.queue_worker", url, folder]
    running = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait()


async def measure(url: str, folder: str, count: int, seconds: float, rounds: int) -> float:
    """The documents per second that `count` workers ingest, after a round to warm up."""
    dispatcher = Dispatcher(url, Bucket(folder))
    while await dispatcher.count_workers() < count:  # noqa: ASYNC110
        await anyio.sleep(0.1)
    with TemporaryDirectory() as place:
        path = Path(place) / "document.pdf"
        path.write_bytes(DOCUMENT)
        source = Source(path, path, hashlib.sha256(DOCUMENT).hexdigest())
        pending = iter(range(count * AT_ONCE * (rounds + 2)))
        ends: list[float] = []

        async def ingest() -> None:
            for _ in pending:
                await dispatcher.run(KIND, source, {"seconds": seconds}, no_progress)
                ends.append(time.monotonic())

        async with anyio.create_task_group() as group:
            for _ in range(count * (AT_ONCE + 1)):
                group.start_soon(ingest)
    await dispatcher.close()
    # Without the first and the last round, in which workers wait for documents.
    step = count * AT_ONCE
    return (len(ends) - 2 * step) / (ends[-step - 1] - ends[step - 1])


async def forget_workers(url: str) -> None:
    """Remove the workers of the round before, which have ended."""
    tasks = Tasks(url)
    await tasks.open()
    while await tasks.count_workers():  # noqa: ASYNC110
        await anyio.sleep(0.1)
    await tasks.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated time of a document")
    parser.add_argument("--rounds", type=int, default=3, help="documents per place of a worker")
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS)
    options = parser.parse_args()
    ideal = AT_ONCE / options.seconds
    print(f"a document takes {options.seconds:g} s; a worker has {AT_ONCE} at a time")
    print("workers  documents/s  of ideal")
    with TemporaryDirectory() as place, postgres_server() as server:
        folder = f"file://{place}/shared"
        for count in options.counts:
            anyio.run(forget_workers, server.url) if count != options.counts[0] else None
            with workers(server.url, folder, count):
                rate = anyio.run(
                    measure, server.url, folder, count, options.seconds, options.rounds
                )
            print(f"{count:7}  {rate:11.3f}  {rate / ideal / count:8.0%}", flush=True)


if __name__ == "__main__":
    main()
