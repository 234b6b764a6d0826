"""The Chroma server goes away at a request, until the client is answered: killed, or paused.

    python -m tests.crash.chroma_outages SCENE REQUESTS SEED MODELS

Prints the tally as JSON. At each request that would change something, it goes before it gets it,
or after it has done it, and then its answer is lost. What is asked of answers and home is what
`faults` asks; besides, `verify` has to find nothing in the process that has seen all of it, and
the client has to be answered within a minute. Our patience with a server is shorter here than in
earnest, and so is that minute.
"""

import errno
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from quinion.store import chroma
from tests.crash.faults import is_done, judge
from tests.crash.judging import Flaw, Tally, examine
from tests.crash.kills import choose
from tests.crash.layer import CHROMA, Run
from tests.crash.outages import Outage, knock
from tests.crash.scenes import SCENES, failure
from tests.crash.theatre import Theatre, open_theatre, verify

BEFORE, AFTER = ("sendto", CHROMA), ("recvfrom", CHROMA)
PATIENCE_S = 2.0
MOST_S = 60.0 * PATIENCE_S / chroma.SERVER_TIMEOUT_S
SLACK_S = 1.0
"""What the call takes besides, to begin its work and to be answered."""


def tally_outages(name: str, requests: int, seed: int, models: Path) -> Tally:
    """Have the server killed, and paused, before and after so many of the requests of a scene."""
    chroma.SERVER_TIMEOUT_S = PATIENCE_S
    scene = SCENES[name]
    tally = Tally(name)
    with open_theatre(scene, models, on_server=True) as theatre:
        tally.calls = sum((one.name, one.file) == BEFORE for one in theatre.act().calls)
        after = theatre.look()
        chosen = choose(tally.calls, requests, seed)
        for request, kind, paused in product(chosen, (BEFORE, AFTER), (False, True)):
            theatre.read_log()
            outage = go_away(theatre, kind, request, paused=paused)
            then = (knock, scene.server.look, scene.act, verify)
            run = theatre.act(outage.decide, *then)
            outage.end()
            if len(run.said) > 1:
                del run.said[1]  # the knock's
            how, when = "paused" if paused else "killed", "before" if kind == BEFORE else "after"
            where = f"Chroma {how} {when} request {request}"
            # Threads do not take the same turns each time, so there may be some requests less.
            tally.points += outage.lasted_s > 0
            tally.acknowledged += bool(run.said) and not failure(run.said[0])
            tally.note(where, judge(theatre, after, run, len(then)))
            tally.note(where, judge_wait(run, outage))
            tally.note(where, examine(theatre, after, done=is_done(run)))
    return tally


def go_away(theatre: Theatre, kind: tuple[str, str], request: int, *, paused: bool) -> Outage:
    """The outage at this request; an answer that is lost is met as the client would meet it."""
    assert theatre.chroma
    lost = errno.ETIMEDOUT if paused else errno.ECONNRESET
    met = lost if kind == AFTER else None
    return Outage(theatre.chroma, kind, request, paused=paused, failure=met)


def judge_wait(run: Run, outage: Outage) -> Iterator[tuple[Flaw, str]]:
    """How long the client waited, and what the same process finds at last."""
    if outage.lasted_s > MOST_S + SLACK_S:
        times = outage.lasted_s / PATIENCE_S
        yield Flaw.WORDLESS, f"the client waits {times:.1f} times as long as we do for Chroma"
    for problem in (said for problems in run.said[3:] for said in problems):
        yield Flaw.ORPHAN, f"in the same process verify says: {problem}"


if __name__ == "__main__":
    name, requests, seed, models = sys.argv[1:]
    print(tally_outages(name, int(requests), int(seed), Path(models)).to_json())
