"""Time until a client has the image of a passage, and the cost of keeping words.

    python -m bench.evidence_cost PDF ...

The first part is what a client of `document-store-mcp` waits for, in an engine that is not yet
running: it ingests the files, searches, and reads the resource of each passage, twice. The second
read is from the cache. The second part is the processor time of finding the words while a text
layer is read, in this process, and their size on the disk.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from time import perf_counter, process_time

import anyio
from mcp import Client, StdioServerParameters

from bench.processes import measure_cpu_s
from bench.sides import find_engine
from quinion.extract.pdf.mupdf import pymupdf
from quinion.extract.pdf.reader import open_pdf
from quinion.extract.pdf.words import read_words

PATIENCE_S = 600
SCRIPTS = Path(sys.executable).parent
QUERIES = ("housing", "green belt", "heritage", "flood", "transport", "design", "viability")
STOP = [str(SCRIPTS / "quinion"), "stop"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.evidence_cost")
    parser.add_argument("files", nargs="+", type=Path)
    files = [file.resolve() for file in parser.parse_args().files]
    with tempfile.TemporaryDirectory(prefix="quinion-bench-") as home:
        environment = {**os.environ, "QUINION_HOME": home, "QUINION_MIRROR": "off"}
        try:
            first, again = anyio.run(read_images, environment, files)
        finally:
            subprocess.run(STOP, env=environment, check=True)
    print("| image of a page | count | CPU, mean ms | first of all | median | maximum, ms |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, (times, cpu_s) in (("rendered", first), ("cached", again)):
        print(
            f"| {name} | {len(times)} | {1_000 * cpu_s / len(times):.0f} | {times[0]:.0f} "
            f"| {median(times):.0f} | {max(times):.0f} |"
        )
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    measure_words(files)


async def read_images(
    environment: dict[str, str], files: Sequence[Path]
) -> tuple[tuple[list[float], float], tuple[list[float], float]]:
    """Return the times of the first and the second reads in milliseconds, and their CPU time."""
    server = StdioServerParameters(command=str(SCRIPTS / "document-store-mcp"), env=environment)
    async with Client(server, read_timeout_seconds=PATIENCE_S) as client:
        for file in files:
            arguments = {"file_path": str(file), "application_ref": "bench"}
            await client.call_tool("ingest_document", arguments)
    # The next engine has no workers yet.
    await anyio.run_process(STOP, env=environment)
    uris: dict[str, None] = {}
    async with Client(server, read_timeout_seconds=PATIENCE_S) as client:
        for query in QUERIES:
            asked = {"query": query, "max_results": 10}
            found = await client.call_tool("search_application_docs", asked)
            assert found.structured_content is not None
            uris |= dict.fromkeys(
                result["evidence"]["uri"] for result in found.structured_content["results"]
            )
        engine = find_engine(Path(environment["QUINION_HOME"]))
        first, again = [await read_all(client, engine, list(uris)) for _ in range(2)]
    return first, again


async def read_all(client: Client, engine: int, uris: Sequence[str]) -> tuple[list[float], float]:
    """Read resources one after the other; return the times and the CPU time of the engine."""
    times = []
    cpu_s = measure_cpu_s(engine)
    for uri in uris:
        began = perf_counter()
        await client.read_resource(uri)
        times.append(1_000 * (perf_counter() - began))
    return times, measure_cpu_s(engine) - cpu_s


def measure_words(files: Sequence[Path]) -> None:
    """Print the cost of the words of a page: processor time while it is read, and bytes."""
    milliseconds, sizes = [], []
    for file in files:
        with open_pdf(file) as document:
            for index in range(document.page_count):
                with document.page(index) as page:
                    content = page.get_textpage(flags=pymupdf.TEXTFLAGS_TEXT)
                    text = content.extractText()
                    began = process_time()
                    words = read_words(page, content, text, has_hidden=False)
                    milliseconds.append(1_000 * (process_time() - began))
                    sizes.append(len(words))
    print(f"words of a page: {mean(milliseconds):.2f} ms of CPU, {mean(sizes):,.0f} bytes")


if __name__ == "__main__":
    main()
