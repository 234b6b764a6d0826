"""How tests have a process die in the middle of an operation."""

import subprocess
import sys
from pathlib import Path

from tests.crash.judging import Flaw, Tally

ROOT = Path(__file__).parents[2]
KILLS, FAULTS, OUTAGES = "tests.crash.kills", "tests.crash.faults", "tests.crash.outages"
CHROMA_OUTAGES = "tests.crash.chroma_outages"


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


def tally(module: str, scene: str, points: int, seed: int, models: Path) -> Tally:
    """What comes of a scene that is killed, or fails, at so many points; in a process of its own,
    because it has to have one thread."""
    command = [sys.executable, "-m", module, scene, str(points), str(seed), str(models)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode:
        return Tally(scene, flaws=[(Flaw.REPEAT, f"{scene}: {module} failed:\n{ended.stderr}")])
    return Tally.from_json(ended.stdout)
