"""Damage tests: the folder of the Chroma mirror is deleted or damaged around an operation.

    python -m tests.crash.chroma_damage SCENE POINTS SEED MODELS

Prints the tally as JSON. Each kind of damage is done once before the home is opened, and at POINTS
points while it is open, including while Chroma is writing there. All calls must succeed, in their
usual time. After the home has been opened and closed again, the mirror must be complete.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from itertools import cycle
from pathlib import Path

from quinion.store.chroma.client import DATABASE
from tests.crash.chroma_calls import judge_calls, speed_up_mirror, steps_of
from tests.crash.judging import Tally, examine, name_point
from tests.crash.kills import choose
from tests.crash.layer import Call, Run
from tests.crash.scenes import SCENES
from tests.crash.theatre import open_theatre

PAGE = 4096


def _delete(chroma: Path) -> None:
    shutil.rmtree(chroma, ignore_errors=True)


def _truncate(chroma: Path) -> None:
    if (database := chroma / DATABASE).exists():
        os.truncate(database, database.stat().st_size // 2)


def _overwrite(chroma: Path) -> None:
    if (database := chroma / DATABASE).exists():
        with database.open("r+b") as file:
            file.write(os.urandom(PAGE))


def _replace(chroma: Path) -> None:
    _delete(chroma)
    if not chroma.exists():
        chroma.write_text("This is not a folder.\n")


DAMAGE: Mapping[str, Callable[[Path], None]] = {
    "the folder deleted": _delete,
    "its database truncated": _truncate,
    "its database overwritten": _overwrite,
    "the folder replaced by a file": _replace,
}


def tally_damage(name: str, points: int, seed: int, models: Path) -> Tally:
    """Do each kind of damage at the start, and one kind after the other at the points."""
    speed_up_mirror()
    tally = Tally(name)
    with open_theatre(SCENES[name], models) as theatre:
        steps = steps_of(theatre.scene)
        usual = theatre.play(steps)
        after = theatre.look()
        tally.calls = len(usual.calls)
        places = [0] * len(DAMAGE) + choose(tally.calls, points, seed)
        for place, kind in zip(places, cycle(DAMAGE), strict=False):

            def decide(call: Call, _: Run, place: int = place, kind: str = kind) -> None:
                if call.place == place:
                    DAMAGE[kind](theatre.settings.home / "chroma")

            theatre.read_log()
            run = theatre.play(steps, decide)
            where = f"{kind} {name_point(usual.calls[place])}"
            tally.points += len(run.calls) > place
            tally.acknowledged += len(run.said) == len(steps)
            tally.note(where, judge_calls(theatre, after, run, usual))
            tally.note(where, examine(theatre, after, done=True))
    return tally


if __name__ == "__main__":
    name, points, seed, models = sys.argv[1:]
    print(tally_damage(name, int(points), int(seed), Path(models)).to_json())
