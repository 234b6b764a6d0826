"""Command line of the speed benchmarks: `make bench CORPUS=…`.

    python -m bench --corpus FOLDER [--quick] [--only PART …]
    python -m bench --page

A full run writes `docs/benchmarks.md` and its plot. The exit status is 1 if a claim missed its
target or a part failed. With --quick or --only, the results are only printed. Full results of each
part are stored in `.bench/parts`; --page regenerates the page from them without measuring.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.page import write_circumstances, write_claims, write_page
from bench.runner import PARTS, Outcome, read_outcome

ROOT = Path(__file__).parents[1]
PEER = ROOT / ".bench" / "venv" / "bin" / "python"
RESULTS = ROOT / ".bench" / "parts"
DOCS = ROOT / "docs"


def main() -> int:
    options = parse_arguments()
    if options.page:
        return finish(list(read_results()))
    with TemporaryDirectory(prefix="quinion-bench-") as scratch:
        folder = Path(scratch) if options.quick else RESULTS
        names = [name for name in PARTS if name in (options.only or PARTS)]
        outcomes = list(measure(names, options, folder))
    if options.quick or options.only:
        for outcome in outcomes:
            print(f"\n## {outcome.part.title}\n\n{outcome.part.body}\n")
        if outcomes:
            print(f"{write_claims(outcomes)}\n\n{write_circumstances(outcomes)}")
        return int(len(outcomes) < len(names))
    return finish(outcomes)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure speed.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--corpus", type=Path, help="folder of documents to measure with")
    what.add_argument("--page", action="store_true", help="write the page from stored results")
    parser.add_argument("--quick", action="store_true", help="two minutes in total; only print")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="run these parts; only print")
    parser.add_argument("--peer", type=Path, default=PEER, help="Python interpreter of the peers")
    return parser.parse_args()


def measure(names: Sequence[str], options: argparse.Namespace, folder: Path) -> Iterator[Outcome]:
    """Run each part in a separate process; report and skip a part that fails."""
    for name in names:
        log(f"{name}: {PARTS[name]}")
        file = folder / f"{name}.json"
        file.unlink(missing_ok=True)
        arguments = [name, options.corpus.resolve(), options.peer.absolute()]
        extent = "quick" if options.quick else "full"
        command = [sys.executable, "-m", "bench.runner", *map(str, arguments), extent, str(file)]
        if subprocess.run(command, cwd=ROOT, check=False).returncode or not file.is_file():
            log(f"{name}: failed, see above")
        else:
            yield read_outcome(file)


def read_results() -> Iterator[Outcome]:
    for name in PARTS:
        if (file := RESULTS / f"{name}.json").is_file():
            yield read_outcome(file)


def finish(outcomes: Sequence[Outcome]) -> int:
    """Write the page; return 1 if a claim missed its target or a part is missing."""
    missing = [name for name in PARTS if name not in {outcome.part.name for outcome in outcomes}]
    write_page(DOCS, outcomes, missing)
    print(write_claims(outcomes))
    claims = [claim for outcome in outcomes for claim in outcome.part.claims]
    return int(bool(missing) or any(claim.met is False for claim in claims))


def log(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
