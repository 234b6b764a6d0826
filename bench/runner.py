"""One part in a process of its own: `python -m bench.runner PART CORPUS PEER QUICK OUTCOME`.

So one part's memory does not weigh on another's, and a part that fails loses nothing but itself.
The outcome is written as JSON: the part, when it was measured, how long that took, and how busy
others kept the machine meanwhile.
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
from bench.processes import Neighbours, adopt_orphans

PARTS = {
    "text": "bench.text.measure",
    "scans": "bench.ocr",
    "judged": "bench.judged",
    "growth": "bench.growth.measure",
}
"""The module of each, in the page's order."""


@dataclass(frozen=True)
class Outcome:
    """A part that was measured, and the circumstances."""

    part: Part
    day: date
    seconds: float
    others: float
    """The share of all cores that other programs kept busy meanwhile."""

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
    neighbours, began = Neighbours(), perf_counter()
    measure = import_module(PARTS[name]).measure
    with TemporaryDirectory(prefix="quinion-bench-") as scratch:
        setting = Setting(Path(corpus), Path(scratch), Path(peer), quick == "quick")
        part: Part = anyio.run(measure, setting)
    seconds = perf_counter() - began
    Outcome(part, datetime.now(UTC).date(), seconds, neighbours.share()).write(Path(outcome))


if __name__ == "__main__":
    main(*sys.argv[1:])
