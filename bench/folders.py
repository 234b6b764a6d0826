"""DocVec on the standard library of the running Python.

    python -m bench.folders [--parts 6] [--part-files 12] [--whole]

Without --whole, DocVec and the plain stack index samples of its files. They alternate part by part,
so background load affects both alike. With --whole, DocVec indexes everything. This measures the
first run, a second run and a run after one file changed, checks that every character of every file
is in a chunk, and times searches with and without filters.
"""

import argparse
import shutil
import statistics
import sysconfig
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, cast

import anyio
from mcp import Client

from bench.processes import measure_cpu_s, watch_memory
from bench.sides import run_peer, run_server
from quinion.engine import open_engine
from quinion.extract.textfile import read_text
from quinion.ingest.folders.records import IndexCollections
from quinion.settings import Settings

ROOT = Path(__file__).parents[1]
EXTENSIONS = {".py", ".txt", ".md"}
QUERIES = 100
FILTERS: dict[str, dict[str, Any] | None] = {
    "no filter": None,
    "broad: file_format = code": {"file_format": "code"},
    "narrow: function_name = __init__": {"function_name": "__init__"},
    "part of a path: source_file ~ asyncio": {"source_file": {"$contains": "asyncio"}},
    "matches nothing": {"header_level": 6},
}


def list_library() -> list[Path]:
    """List the files of the standard library that DocVec indexes, without site-packages."""
    library = Path(sysconfig.get_path("stdlib"))
    return sorted(
        path
        for path in library.rglob("*")
        if path.suffix in EXTENSIONS and "site-packages" not in path.parts and path.stat().st_size
    )


def copy(files: list[Path], folder: Path) -> None:
    library = Path(sysconfig.get_path("stdlib"))
    for file in files:
        target = folder / file.relative_to(library)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def run_docvec(home: Path) -> AbstractAsyncContextManager[tuple[Client, Sequence[int]]]:
    """Start DocVec; yields the client and the pids."""
    return run_server("docvec-mcp", home, home.parent / "docvec.log")


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = (await client.call_tool(tool, arguments)).structured_content
    if answer is None or not answer["success"]:
        raise SystemExit(f"{tool} failed: {answer}")
    return cast(dict[str, Any], answer["data"])


async def compare(parts: int, part_files: int, python: Path, scratch: Path) -> None:
    """Index the same samples with both, alternating."""
    files = [file for file in list_library() if file.suffix == ".py"]
    step = max(1, len(files) // (parts * part_files))
    chosen = files[::step][: parts * part_files]
    folders = [scratch / f"part-{number}" for number in range(parts + 1)]
    copy(files[1:4], folders[0])  # warm-up: lazy loading on both sides
    for number, folder in enumerate(folders[1:]):
        copy(chosen[number::parts], folder)
    async with (
        run_docvec(scratch / "home") as (client, pids),
        run_peer(python, "bench.plain", scratch / "plain", scratch / "plain.log") as plain,
    ):
        await call(client, "index_directory", dir_path=str(folders[0]))
        await plain.call("index", str(folders[0]))
        ratios: dict[str, list[float]] = defaultdict(list)
        chunks = [0, 0]
        for number, folder in enumerate(folders[1:]):
            taken: dict[str, tuple[float, float]] = {}
            for side in ("ours", "plain") if number % 2 else ("plain", "ours"):
                processes = pids if side == "ours" else plain.pids
                cpu, began = measure_cpu_s(*processes), perf_counter()
                if side == "ours":
                    data = await call(client, "index_directory", dir_path=str(folder))
                    chunks[0] += data["total_chunks"]
                else:
                    chunks[1] += (await plain.call("index", str(folder)))["chunks"]
                taken[side] = perf_counter() - began, measure_cpu_s(*processes) - cpu
            for place, unit in enumerate(("wall", "processor")):
                ratios[unit].append(taken["plain"][place] / taken["ours"][place])
    size = sum(file.stat().st_size for file in chosen) / 1e6
    print(f"{len(chosen)} files, {size:.1f} MB; {chunks[0]:,} chunks ours, {chunks[1]:,} plain")
    for unit, found in ratios.items():
        spread = f"{min(found):.2f} to {max(found):.2f}"
        print(f"{unit} time, plain over ours: {statistics.median(found):.2f} ({spread})")


async def index_all(scratch: Path) -> None:
    """Index everything, again, and after a change; then search."""
    files = list_library()
    folder = scratch / "library"
    copy(files, folder)
    home = scratch / "home"
    async with run_docvec(home) as (client, pids):
        with watch_memory(*pids) as peak:
            first = await timed(client, pids, folder, "first run")
        second = await timed(client, pids, folder, "second run")
        touched = folder / "functools.py"
        touched.write_text(touched.read_text() + "\n# touched\n")
        await timed(client, pids, folder, "one file changed")
        print(f"second run over first: {second / first:.4f}; peak memory {peak.megabytes:.0f} MB")
        await search(client, files)
    await check_completeness(home, folder)


async def timed(client: Client, pids: Sequence[int], folder: Path, name: str) -> float:
    cpu, began = measure_cpu_s(*pids), perf_counter()
    data = await call(client, "index_directory", dir_path=str(folder))
    seconds = perf_counter() - began
    print(
        f"{name}: {data['new_documents']} files indexed, {data['duplicates_skipped']} known, "
        f"{len(data['errors'])} errors, {data['total_chunks']:,} chunks, {seconds:.1f} s, "
        f"{measure_cpu_s(*pids) - cpu:.1f} processor s",
        flush=True,
    )
    for error in data["errors"]:
        print(f"  {error['file_path']}: {error['error']} ({error['reason']})")
    return seconds


async def search(client: Client, files: list[Path]) -> None:
    """Time searches; filtered and unfiltered ones alternate."""
    queries = list(first_sentences(files))
    latencies: dict[str, list[float]] = defaultdict(list)
    for query in queries:
        for name, filters in FILTERS.items():
            began = perf_counter()
            if filters is None:
                await call(client, "search", query=query, n_results=10)
            else:
                arguments = {"query": query, "filters": filters, "n_results": 10}
                await call(client, "search_with_filters", **arguments)
            latencies[name].append(1000 * (perf_counter() - began))
    stats = await call(client, "get_index_stats")
    print(f"\n{stats['total_chunks']:,} chunks of {stats['unique_files']:,} files\n")
    print("| search | p50 ms | p99 ms |\n|---|---|---|")
    for name, found in latencies.items():
        cuts = statistics.quantiles(found, n=100)
        print(f"| {name} | {cuts[49]:.1f} | {cuts[98]:.1f} |")


def first_sentences(files: list[Path]) -> Iterator[str]:
    """Yield realistic queries: the first sentences of the modules' docstrings."""
    found = 0
    for file in files[:: max(1, len(files) // (3 * QUERIES))]:
        _, opened, rest = file.read_text("utf-8", "replace").partition('"""')
        sentence = " ".join(rest.partition("\n\n")[0].partition('"""')[0].split())
        if opened and sentence and found < QUERIES:
            found += 1
            yield sentence[:200]


async def check_completeness(home: Path, folder: Path) -> None:
    """Check that the chunks of each file contain all its characters in order, except blanks."""
    texts: dict[str, list[tuple[int, str]]] = defaultdict(list)
    async with open_engine(Settings(home=home)) as engine:
        for record in await engine.collections.get(IndexCollections("documents").chunks):
            place = int(record.metadata["chunk_index"])
            texts[str(record.metadata["source_file"])].append((place, record.text))
    lost = [
        path
        for path, chunks in texts.items()
        if "".join(read_text(Path(path), Path(path).suffix).split())
        != "".join("".join(text.split()) for _, text in sorted(chunks))
    ]
    lines = sum(read_text(Path(path), Path(path).suffix).count("\n") for path in texts)
    print(
        f"\n{len(texts):,} files, {lines:,} lines: {len(lost)} files with missing text {lost[:5]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--whole", action="store_true", help="index all files, with DocVec only")
    parser.add_argument("--parts", type=int, default=6)
    parser.add_argument("--part-files", type=int, default=12)
    parser.add_argument(
        "--plain-python", type=Path, default=ROOT / ".bench" / "venv" / "bin" / "python"
    )
    options = parser.parse_args()
    with TemporaryDirectory(prefix="quinion-bench-") as scratch:
        (Path(scratch) / "home").mkdir()
        if options.whole:
            anyio.run(index_all, Path(scratch))
        else:
            anyio.run(
                compare, options.parts, options.part_files, options.plain_python, Path(scratch)
            )


if __name__ == "__main__":
    main()
