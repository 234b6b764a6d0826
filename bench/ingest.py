"""Ingest and search: ours against the plain stack, on the same documents in the same run.

    python -m bench.ingest --corpus FOLDER [--repeats N] [--quick]

Prints the table, and writes it to `docs/benchmarks.md` unless the run was a quick one. Fails
if the two sides did not store the same, since ratios would then mean nothing.
"""

import argparse
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from bench.processes import Neighbours
from bench.report import Run, replace_part, write_report
from bench.rounds import Side, Work, run_round
from bench.sides import find_our_chroma, run_ours, run_plain

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
QUESTIONS = "qa_coventry_nppf.json"
QUICK_PAGES = 12
"""Longer documents are not measured with --quick."""

Document = dict[str, Any]
"""As `survey.py` prints it."""


def main() -> None:
    options = parse_arguments()
    if options.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    folder = find_documents(options.corpus)
    documents = call("bench.survey", str(folder))
    work = choose_work(documents, folder, QUICK_PAGES if options.quick else sys.maxsize)
    with TemporaryDirectory(prefix="quinion-bench-") as scratch:
        run = measure(options, work, Path(scratch))
    report = write_report(run, group_left_out(documents, folder))
    print(report)
    if not run.agrees:
        raise SystemExit("The two sides did not store the same: the ratios mean nothing.")
    if not options.quick:
        replace_part(PAGE, f"cores {options.cores}" if options.cores else "all cores", report)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True, help="folder of documents")
    parser.add_argument("--repeats", type=int, default=3, help="rounds (3)")
    parser.add_argument(
        "--quick", action="store_true", help="one round of the short documents; only print"
    )
    parser.add_argument("--cores", type=int, help="keep both sides to that many cores")
    parser.add_argument(
        "--plain-python",
        type=Path,
        default=ROOT / ".bench" / "venv" / "bin" / "python",
        help="Python of the plain stack's environment (the one that `make bench` makes)",
    )
    return parser.parse_args()


def find_documents(corpus: Path) -> Path:
    """The planning documents of the corpus, or the folder itself if it is that of them."""
    folder = corpus / "planning" if (corpus / "planning").is_dir() else corpus
    if not (folder / QUESTIONS).is_file():
        raise SystemExit(f"There is no planning/{QUESTIONS} in {corpus}. Give the corpus' folder.")
    return folder.resolve()


def choose_work(documents: list[Document], folder: Path, longest: int) -> Work:
    """The shortest document first, then all others in order."""
    chosen = [d for d in documents if not d["left_out"] and d["page_count"] <= longest]
    first = min(chosen, key=lambda document: int(document["page_count"]))
    chosen.remove(first)
    return Work(
        first=Path(first["file"]),
        files=[Path(document["file"]) for document in chosen],
        page_count=sum(document["page_count"] for document in chosen),
        questions=[item["question"] for item in json.loads((folder / QUESTIONS).read_text())],
    )


def group_left_out(documents: list[Document], folder: Path) -> dict[str, list[str]]:
    """The names of the documents that are not measured, by the reason."""
    groups: dict[str, list[str]] = {}
    for document in documents:
        if reason := document["left_out"]:
            groups.setdefault(reason, []).append(str(Path(document["file"]).relative_to(folder)))
    return groups


def measure(options: argparse.Namespace, work: Work, scratch: Path) -> Run:
    plain = Side("plain", partial(run_plain, options.plain_python), scratch)
    ours = Side("ours", run_ours, scratch)
    neighbours = Neighbours()
    repeats = 1 if options.quick else options.repeats
    for number in range(repeats):
        tell(f"round {number + 1} of {repeats}: {len(work.files)} documents")
        anyio.run(run_round, (plain, ours), number, work)
    return Run(
        command=describe_command(options),
        repeats=repeats,
        documents=len(work.files),
        pages=work.page_count,
        ours=ours.series,
        plain=plain.series,
        our_versions=ours.versions,
        plain_versions=plain.versions,
        others_share=neighbours.share(),
        **call("bench.agreement", str(find_our_chroma(ours.store(0))), str(plain.store(0))),
    )


def describe_command(options: argparse.Namespace) -> str:
    """The command as others would give it: where a folder lies on this machine is left out."""
    corpus = f"…/{options.corpus.name}" if options.corpus.is_absolute() else options.corpus
    extra = [f"--repeats {options.repeats}"] * (options.repeats != 3)
    extra += [f"--cores {options.cores}"] * bool(options.cores)
    extra += ["--quick"] * options.quick
    given = f'OPTIONS="{" ".join(extra)}"' if extra else ""
    return f"make bench CORPUS={corpus} {given}".strip()


def call(module: str, *arguments: str) -> Any:
    """What a module of ours prints, run in a process of its own."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
