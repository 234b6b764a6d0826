"""Cost of the Chroma mirror.

    python -m bench.mirror FILE.pdf

Prints, with the mirror on and off: the time to the first answer, the memory of a server that only
searches, and its memory after a document was ingested and replicated.
"""

import argparse
import os
import statistics
import tempfile
from pathlib import Path
from time import perf_counter

import anyio

from bench.processes import measure_memory_mb
from bench.sides import run_ours
from quinion.store.base import VectorStore
from quinion.store.chroma.replicator import QUIET_S, Replicator
from quinion.store.embedded.store import EmbeddedStore

ROUNDS = 5
SETTLED_S = QUIET_S + 4


def flush_mirror(store: VectorStore) -> None:
    """Wait until everything in the store is replicated."""
    assert isinstance(store, EmbeddedStore)
    assert isinstance(store.mirror, Replicator)
    store.mirror.flush()


async def measure(home: Path, file: Path | None) -> tuple[float, float]:
    """Return the seconds to the first answer and the final memory in MB."""
    begun = perf_counter()
    async with run_ours(home, home.with_suffix(".log")) as session:
        await session.search("what is near the river?")
        first_s = perf_counter() - begun
        if file:
            await session.ingest([file])
        await anyio.sleep(SETTLED_S if file else 1)
        return first_s, measure_memory_mb(*session.pids)


def make_another(file: Path, folder: str, number: int) -> Path:
    """Copy the document with a different hash, so that the store ingests it."""
    other = Path(folder) / f"{number}.pdf"
    other.write_bytes(file.read_bytes() + b"%%%d\n" % number)
    return other


async def main(file: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="quinion-bench-") as folder:
        found: dict[str, list[tuple[float, float, float]]] = {"on": [], "off": []}
        for number in range(ROUNDS + 1):
            for mirror in ("on", "off") if number % 2 else ("off", "on"):
                os.environ["QUINION_MIRROR"] = mirror
                home = Path(folder) / mirror
                first_s, idle_mb = await measure(home, None)
                _, written_mb = await measure(home, make_another(file, folder, number))
                if number:  # the first round prepares the model
                    found[mirror].append((first_s, idle_mb, written_mb))
        for mirror, rows in found.items():
            first_s, idle_mb, written_mb = (
                statistics.median(row) for row in zip(*rows, strict=True)
            )
            print(
                f"mirror {mirror}: first answer {first_s:.2f} s, {idle_mb:.0f} MB after a search, "
                f"{written_mb:.0f} MB after an ingest"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.mirror", description=__doc__)
    parser.add_argument("file", type=Path, help="a PDF to ingest")
    anyio.run(main, parser.parse_args().file.resolve())
