"""Outage tests: the Chroma server that mirrors the store is killed, paused or emptied.

    python -m tests.crash.chroma_outages SCENE REQUESTS SEED MODELS

Prints the tally as JSON. The server goes away before the home is opened; or at a request that
would change something: before it receives it, or after it has executed it, and then its answer is
lost. It is back before the home is closed. All calls made meanwhile must succeed, in their usual
time, and after the close the mirror must be complete; where the server was emptied, after the next
one.
"""

import errno
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.crash.chroma_calls import judge_calls, speed_up_mirror, steps_of
from tests.crash.judging import Flaw, Tally, examine
from tests.crash.kills import choose
from tests.crash.layer import CHROMA, Call, Run
from tests.crash.outages import How, Outage, knock
from tests.crash.scenes import SCENES
from tests.crash.theatre import Theatre, open_theatre

BEFORE, AFTER = ("sendto", CHROMA), ("recvfrom", CHROMA)


def tally_outages(name: str, requests: int, seed: int, models: Path) -> Tally:
    """Interrupt the server at the start, and around some of the requests of a scene."""
    speed_up_mirror()
    tally = Tally(name)
    with open_theatre(SCENES[name], models, on_server=True) as theatre:
        steps = steps_of(theatre.scene)
        usual, tally.calls = count_requests(theatre)
        after = theatre.look()
        for where, outage in choose_outages(theatre, tally.calls, requests, seed):
            theatre.read_log()
            run = theatre.play([*steps, knock], outage.decide)
            outage.end()
            # The order of threads varies, so there may be fewer requests.
            tally.points += outage.happened
            tally.acknowledged += len(run.said) > len(steps)
            tally.note(where, judge_calls(theatre, after, run, usual))
            if outage.how is not How.EMPTIED:
                unmirrored = theatre.find_unmirrored()
                tally.note(where, ((Flaw.MIRROR, f"at the close {line}") for line in unmirrored))
            tally.note(where, examine(theatre, after, done=True))
    return tally


def count_requests(theatre: Theatre) -> tuple[Run, int]:
    """Run a play without an outage, and count its changing requests up to the answer of `verify`,
    which waits for all of them."""
    requests = 0

    def decide(call: Call, run: Run) -> None:
        nonlocal requests
        requests += len(run.said) < 2 and (call.name, call.file) == BEFORE

    return theatre.play(steps_of(theatre.scene), decide), requests


def choose_outages(
    theatre: Theatre, total: int, requests: int, seed: int
) -> Iterator[tuple[str, Outage]]:
    """Choose the named outages of a scene."""
    assert theatre.chroma
    chroma, answers = theatre.chroma, len(steps_of(theatre.scene))
    for how in How:
        yield f"Chroma {how} at the start", Outage(chroma, BEFORE, None, how, answers=answers)
    for request in choose(total, requests, seed):
        for how in How:
            where = f"Chroma {how} before request {request}"
            yield where, Outage(chroma, BEFORE, request, how, answers=answers)
        for how, lost in ((How.KILLED, errno.ECONNRESET), (How.PAUSED, errno.ETIMEDOUT)):
            where = f"Chroma {how} after request {request}"
            yield where, Outage(chroma, AFTER, request, how, answers=answers, failure=lost)


if __name__ == "__main__":
    name, requests, seed, models = sys.argv[1:]
    print(tally_outages(name, int(requests), int(seed), Path(models)).to_json())
