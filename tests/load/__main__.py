"""`make load`: load test of ten minutes, or of the given duration, with figures."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from quinion.embed.local.weights import prepare
from tests.contract.process import Home
from tests.load.loading import measure
from tests.load.test_load import judge

TEN_MINUTES_S = 600.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--seconds", type=float, default=TEN_MINUTES_S)
    seconds: float = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder, "home"), Path(folder))
        home.path.mkdir()
        prepare(home.path / "models")
        report = measure(home, seconds)
    print("\n".join([*report.lines(), *report.failures[:20], f"{os.cpu_count()} cores"]))
    problems = judge(report)
    print("\n".join(problems) or "All checks passed.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
