"""Calls to a server whose Chroma mirror fails: none may fail or wait because of that.

In these plays the mirror is updated at once instead of some seconds after the last write, so it is
active during the calls.
"""

import time
from collections.abc import Iterator
from typing import Any

from quinion.store.chroma import process, replicator
from tests.crash.faults import SHOWN
from tests.crash.judging import Flaw
from tests.crash.layer import Run
from tests.crash.scenes import Scene, Stage, State, Step, failure
from tests.crash.theatre import Theatre, verify

PATIENCE_S = 6.0
"""Timeout for an answer of a Chroma server, including the start of Chroma's process. A call that
waited for Chroma would take that much longer."""
SLACK_S = PATIENCE_S / 2


def speed_up_mirror() -> None:
    """Make the mirror of all later plays update at once, with a shorter timeout."""
    replicator.QUIET_S = 0.0
    process.SERVER_TIMEOUT_S = PATIENCE_S


def timed(step: Step) -> Step:
    """Wrap a step so that it also returns its duration in seconds."""

    async def take(stage: Stage) -> list[Any]:
        begun = time.monotonic()
        outcome = await step(stage)
        return [time.monotonic() - begun, outcome]

    return take


def steps_of(scene: Scene) -> list[Step]:
    """Return the steps: the call, `verify` (which reads the mirror), the reads, the call."""
    return [timed(step) for step in (scene.act, verify, scene.server.look, scene.act)]


def judge_calls(theatre: Theatre, after: State, run: Run, usual: Run) -> Iterator[tuple[Flaw, str]]:
    """Return the differences from a play in which the mirror works."""
    steps = 4
    if run.hung or run.status or len(run.said) < steps:
        how = "it hung" if run.hung else f"it ended with {run.status}"
        log = theatre.read_log()[-SHOWN:]
        yield Flaw.FAILED, f"{how} after {len(run.said)} answers:\n{log}"
        return
    (_, answer), (_, problems), (_, state), (_, again) = run.said[:steps]
    if failure(answer):
        yield Flaw.FAILED, f"the call answers {answer}"
    if failure(again) and failure(again) != theatre.scene.again:
        yield Flaw.FAILED, f"the same call answers {again}"
    if state != after:
        yield Flaw.FAILED, "the state after the call is not the new one"
    for problem in problems:
        yield Flaw.FAILED, f"verify reports: {problem}"
    # `verify` waits for the mirror, because it reports on it.
    for number, name in ((0, "the call"), (2, "a look"), (3, "the same call")):
        took_s, usually_s = run.said[number][0], usual.said[number][0]
        if took_s > 2 * usually_s + SLACK_S:
            yield Flaw.FAILED, f"{name} takes {took_s:.1f} s, and usually {usually_s:.1f} s"
