"""How tests have a process die in the middle of an operation."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def die_at(
    operation: str, home: Path, file: Path, moment: int
) -> "subprocess.CompletedProcess[str]":
    """Run an operation of `die.py` up to a moment."""
    return subprocess.run(
        [sys.executable, "-m", "tests.crash.die", operation, str(home), str(file), str(moment)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
