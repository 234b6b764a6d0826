"""Runs the plays of a scene in a separate process."""

import subprocess
import sys
from pathlib import Path

from tests.crash.judging import Flaw, Tally

ROOT = Path(__file__).parents[2]
KILLS, FAULTS, OUTAGES = "tests.crash.kills", "tests.crash.faults", "tests.crash.outages"
CHROMA_OUTAGES, CHROMA_DAMAGE = "tests.crash.chroma_outages", "tests.crash.chroma_damage"


def tally(module: str, scene: str, points: int, seed: int, models: Path) -> Tally:
    """Return the results of a scene. The plays need a single-threaded process, hence a separate
    one."""
    command = [sys.executable, "-m", module, scene, str(points), str(seed), str(models)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode:
        return Tally(scene, flaws=[(Flaw.REPEAT, f"{scene}: {module} failed:\n{ended.stderr}")])
    return Tally.from_json(ended.stdout)
