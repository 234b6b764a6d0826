"""Runner of a single part: `python -m bench.runner PART CORPUS PEER QUICK OUTCOME`.

Each part runs in a separate process, so its memory does not affect the next part and a failure
does not lose the other results. The outcome is written as JSON: the result, the date, the
duration and the CPU share of unrelated programs.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import anyio

from bench.part import Part, Setting, read_part
from bench.processes import BackgroundLoad, adopt_orphans

PARTS = {
    "text": "bench.text.measure",
    "scans": "bench.ocr",
    "judged": "bench.judged",
    "growth": "bench.growth.measure",
}
"""Module of each part, in the order of the page."""


@dataclass(frozen=True)
class Outcome:
    """Result of a part, with date, duration and background load."""

    part: Part
    day: date
    seconds: float
    others: float
    """Share of all cores used by unrelated programs during the run."""

    def write(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(asdict(self) | {"day": self.day.isoformat()}))


def read_outcome(file: Path) -> Outcome:
    stored: Mapping[str, Any] = json.loads(file.read_text())
    return Outcome(
        part=read_part(stored["part"]),
        day=date.fromisoformat(stored["day"]),
        seconds=stored["seconds"],
        others=stored["others"],
    )


def main(name: str, corpus: str, peer: str, quick: str, outcome: str) -> None:
    adopt_orphans()
    load, began = BackgroundLoad(), perf_counter()
    measure = import_module(PARTS[name]).measure
    with TemporaryDirectory(prefix="quinion-bench-") as scratch:
        setting = Setting(Path(corpus), Path(scratch), Path(peer), quick == "quick")
        part: Part = anyio.run(measure, setting)
    seconds = perf_counter() - began
    Outcome(part, datetime.now(UTC).date(), seconds, load.share()).write(Path(outcome))


if __name__ == "__main__":
    main(*sys.argv[1:])
