"""Processor time of ingestion, as a ratio to another version of quinion.

    git worktree add /tmp/before COMMIT
    python -m bench.ingest_ratio /tmp/before [--rounds 5] FILE ...

Each round ingests the files with both versions into new homes, with `quinion ingest` and without
the mirror, in changing order. The time is that of all processes, workers and OCR included. The
time of ingesting `samples/Transport_Assessment.pdf` alone, mostly that of the start, is subtracted.
Variables of the environment apply to both versions: `OCR_ENGINE=tesseract`, for example. Both run
on the packages of this virtual environment.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

from bench.processes import adopt_orphans

ROOT = Path(__file__).parents[1]
SMALL = ROOT / "samples" / "Transport_Assessment.pdf"
FIXED = {"QUINION_MIRROR": "off", "QUINION_EMBEDDING_ENGINE": "onnx"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ingest_ratio")
    parser.add_argument("before", type=Path, help="working tree of the other version")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    adopt_orphans()
    trees = [options.before.resolve(), ROOT]
    for tree in trees:
        check_tree(tree)
    ratios = []
    print("| round | before, CPU s | now, CPU s | ratio |\n|---:|---:|---:|---:|")
    for number in range(1, options.rounds + 1):
        order = trees if number % 2 else trees[::-1]
        cost = {tree: ingest(tree, options.files) - ingest(tree, [SMALL]) for tree in order}
        before, now = (cost[tree] for tree in trees)
        ratios.append(now / before)
        print(f"| {number} | {before:.1f} | {now:.1f} | {ratios[-1]:.3f} |", flush=True)
    print(f"\nmedian {median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}")


def check_tree(tree: Path) -> None:
    """Check that a child process imports quinion from this tree."""
    command = [sys.executable, "-P", "-c", "import quinion; print(quinion.__file__)"]
    found = subprocess.run(
        command, env=variables(tree), check=True, capture_output=True, text=True
    ).stdout
    if not Path(found.strip()).is_relative_to(tree):
        raise SystemExit(f"{found.strip()} would be measured instead of {tree}.")


def variables(tree: Path, **more: str) -> dict[str, str]:
    return {**os.environ, **FIXED, "PYTHONPATH": str(tree / "src"), **more}


def ingest(tree: Path, files: Sequence[Path]) -> float:
    """Ingest files into a new home; return the processor time of all processes in seconds."""
    before = used_by_children_s()
    with tempfile.TemporaryDirectory(prefix="quinion-bench-") as home:
        command = [sys.executable, "-P", "-m", "quinion", "ingest", "--json", "-a", "bench"]
        done = subprocess.run(
            [*command, *map(str, files)],
            env=variables(tree, QUINION_HOME=home),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        assert len(json.loads(done.stdout)) == len(files)
    with suppress(ChildProcessError):  # OCR outlives its worker for a moment, and is adopted here
        while True:
            os.wait()
    return used_by_children_s() - before


def used_by_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
