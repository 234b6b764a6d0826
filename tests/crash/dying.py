"""Runs the plays of a scene in a process of their own."""

import subprocess
import sys
from pathlib import Path

from tests.crash.judging import Flaw, Tally

ROOT = Path(__file__).parents[2]
KILLS, FAULTS, OUTAGES = "tests.crash.kills", "tests.crash.faults", "tests.crash.outages"
CHROMA_OUTAGES, CHROMA_DAMAGE = "tests.crash.chroma_outages", "tests.crash.chroma_damage"


def tally(module: str, scene: str, points: int, seed: int, models: Path) -> Tally:
    """The results of a scene at so many points. It has a process of its own, because that must
    have one thread."""
    command = [sys.executable, "-m", module, scene, str(points), str(seed), str(models)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode:
        return Tally(scene, flaws=[(Flaw.REPEAT, f"{scene}: {module} failed:\n{ended.stderr}")])
    return Tally.from_json(ended.stdout)
