"""Kill tests: SIGKILL at many changes of an operation, then restart, read and repeat the call.

    python -m tests.crash.kills SCENE POINTS SEED MODELS

Prints the tally as JSON. Points are chosen from all changes that the operation makes, from opening
the home to closing it: half of them before the answer to the client, half after it, when the mirror
is updated. They are spaced evenly, and the seed shifts them. First, one run of the operation is
read at each of its changes (`reads`).
"""

import random
import sys
from pathlib import Path

from tests.crash.judging import Flaw, Tally, examine, name_point
from tests.crash.layer import KILL, Call, Run
from tests.crash.reads import read_during
from tests.crash.scenes import SCENES
from tests.crash.theatre import Theatre, open_theatre


def choose(total: int, points: int, seed: int) -> list[int]:
    """Choose evenly spaced changes, or all of them if there are few."""
    if total <= points:
        return list(range(total))
    start = random.Random(seed).random()
    return [int((start + point) * total / points) for point in range(points)]


def choose_around(answered: int, total: int, points: int, seed: int) -> list[int]:
    """Choose half of the points before the answer and half after it, if there are enough."""
    later = total - answered
    before = min(max(points - points // 2, points - later), answered)
    chosen = choose(later, points - before, seed)
    return [*choose(answered, before, seed), *(answered + place for place in chosen)]


def kill_at(theatre: Theatre, place: int) -> tuple[Run, str]:
    """Kill the process instead of this change; return its run and the call at which it died."""
    where = "at its end"

    def decide(call: Call, _: Run) -> int | None:
        nonlocal where
        if call.place != place:
            return None
        where = name_point(call)
        return KILL

    return theatre.act(decide), where


def tally_kills(name: str, points: int, seed: int, models: Path) -> Tally:
    """Kill a scene at each of the points."""
    tally = Tally(name)
    with open_theatre(SCENES[name], models) as theatre:
        usual = theatre.act()
        tally.calls = len(usual.calls)
        unmirrored = theatre.find_unmirrored()
        tally.note("not killed", ((Flaw.MIRROR, line) for line in unmirrored))
        after = theatre.look()
        assert theatre.scene.unpack or after != theatre.before, "it changes nothing"
        read_during(theatre, after, tally)
        for place in choose_around(usual.unsaid, tally.calls, points, seed):
            run, where = kill_at(theatre, place)
            if run.status == 0:  # the order of threads varies, so there may be fewer changes
                run, where = kill_at(theatre, place * len(run.calls) // tally.calls)
            assert not run.hung, where
            tally.points += run.status == -9
            tally.acknowledged += bool(run.said)
            tally.note(where, examine(theatre, after, done=bool(run.said)))
    return tally


if __name__ == "__main__":
    name, points, seed, models = sys.argv[1:]
    print(tally_kills(name, int(points), int(seed), Path(models)).to_json())
