"""Writer of `docs/benchmarks.md`; the entire file is generated."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from bench.part import Claim
from bench.plot import draw
from bench.runner import Outcome
from bench.table import measured, number, table

PAGE = "benchmarks.md"
PLOT = "benchmarks.svg"

INTRODUCTION = """\
# Benchmarks

```sh
make bench CORPUS=/path/to/documents   # measures everything and writes this page
make bench-quick CORPUS=…              # two minutes; only prints
```

quinion is compared with these peers, in the same run, on the same files and questions:

- **the plain stack** (`bench/plain.py`): the libraries named by the Document Store's spec, each \
used as its manual shows: PyMuPDF, LangChain's `RecursiveCharacterTextSplitter`, \
sentence-transformers with batches of 32, Chroma;
- **LlamaIndex** (`bench/llamaindex.py`), built from the same libraries;
- **pytesseract**, for scanned pages: the literal way, i.e. a literal implementation of the spec.

They run in a separate environment (`.bench/venv`) with the same weights of the same model.

Absolute times depend on the machine and its load; ratios depend on them much less. Compared sides \
therefore alternate within one run, and each pair of measurements gives one ratio. The tables show \
the median of these ratios, with the range in brackets. Targets are set by this project and are \
compared with the median.
"""


def write_page(folder: Path, outcomes: Sequence[Outcome], missing: Sequence[str]) -> None:
    """Write the page and its plot into the folder."""
    (folder / PLOT).write_text(draw([outcome.part for outcome in outcomes]))
    parts = [f"## {outcome.part.title}\n\n{outcome.part.body.strip()}" for outcome in outcomes]
    sections = [
        INTRODUCTION.strip(),
        "## Claims",
        write_claims(outcomes),
        *[f"Not measured, because the part failed: {name}." for name in missing],
        f"![Speed-up over the peers, and query latency by store size]({PLOT})",
        *parts,
        "## Test conditions",
        write_circumstances(outcomes),
    ]
    (folder / PAGE).write_text("\n\n".join(sections) + "\n")


def write_claims(outcomes: Sequence[Outcome]) -> str:
    """Render the table of all claims."""
    claims = [claim for outcome in outcomes for claim in outcome.part.claims]
    return table(("", "measured (range)", "target", ""), map(_line, claims))


def write_circumstances(outcomes: Sequence[Outcome]) -> str:
    """Render the machine, and the date, duration and background load of each part."""
    cores = len(os.sched_getaffinity(0))
    rows = [
        (
            outcome.part.name,
            f"{outcome.day:%-d %B %Y}",
            f"{number(outcome.seconds / 60)} min",
            f"{outcome.others:.0%}",
        )
        for outcome in outcomes
    ]
    return (
        f"{cores} {'core' if cores == 1 else 'cores'} of {_processor()}, {_memory_gb():.0f} GB, "
        f"{platform.system()}, Python {platform.python_version()}. *Others* is the share of "
        "the machine's CPU time used by programs outside the benchmark.\n\n"
        + table(("part", "measured on", "took", "others"), rows)
    )


def _line(claim: Claim) -> tuple[str, str, str, str]:
    value = measured(claim.value, claim.low, claim.high, claim.unit)
    verdict = {None: "", True: "met", False: "**missed**"}[claim.met]
    return claim.what, f"**{value}**", _target(claim), verdict


def _target(claim: Claim) -> str:
    if claim.target is None:
        return ""
    unit = claim.unit if claim.unit in {"", "×", "%"} else f" {claim.unit}"
    return f"{'≤' if claim.at_most else '≥'} {claim.target:g}{unit}"


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
