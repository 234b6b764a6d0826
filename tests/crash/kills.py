"""SIGKILL at every so many changes of an operation, each followed by a look and the same call.

    python -m tests.crash.kills SCENE POINTS SEED MODELS

Prints the tally as JSON. Points lie evenly over all changes that the operation makes from the
opening of the home to its closing, so also after the client was answered; the seed moves them.
`test_docvec`, `test_ingest`, `test_library` and `test_policy` kill at steps of our own code
instead, before and after each, and know which step decides; here it is the kernel that counts, so
steps of SQLite and Chroma are among them.
"""

import random
import sys
from pathlib import Path

from tests.crash.judging import Tally, examine, name_point
from tests.crash.layer import KILL, Call, Run
from tests.crash.scenes import SCENES
from tests.crash.theatre import Theatre, open_theatre


def choose(total: int, points: int, seed: int) -> list[int]:
    """So many of the changes, or all of them, evenly."""
    if total <= points:
        return list(range(total))
    start = random.Random(seed).random()
    return [int((start + point) * total / points) for point in range(points)]


def kill_at(theatre: Theatre, place: int) -> tuple[Run, str]:
    """Die in the place of this change; what the process did, and where it died."""
    where = "at its end"

    def decide(call: Call, _: Run) -> int | None:
        nonlocal where
        if call.place != place:
            return None
        where = name_point(call)
        return KILL

    return theatre.act(decide), where


def tally_kills(name: str, points: int, seed: int, models: Path) -> Tally:
    """Kill a scene at so many points."""
    tally = Tally(name)
    with open_theatre(SCENES[name], models) as theatre:
        tally.calls = len(theatre.act().calls)
        after = theatre.look()
        assert after != theatre.before, "it changes nothing"
        for place in choose(tally.calls, points, seed):
            run, where = kill_at(theatre, place)
            assert not run.hung, where
            # Threads do not take the same turns each time, so there may be some changes less.
            tally.points += run.status == -9
            tally.acknowledged += bool(run.said)
            tally.note(where, examine(theatre, after, done=bool(run.said)))
    return tally


if __name__ == "__main__":
    name, points, seed, models = sys.argv[1:]
    print(tally_kills(name, int(points), int(seed), Path(models)).to_json())
