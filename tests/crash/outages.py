"""Redis goes away from one request on, until the client is answered: killed, or paused.

    python -m tests.crash.outages SCENE POINTS SEED MODELS

Prints the tally as JSON. What is asked of answers and home is what `faults` asks.
"""

import signal
import sys
import time
from pathlib import Path

from tests.chroma_server import ChromaServer
from tests.crash.faults import is_done, judge
from tests.crash.judging import Tally, examine
from tests.crash.kills import choose
from tests.crash.layer import REDIS, Call, Run
from tests.crash.scenes import SCENES, Stage, failure
from tests.crash.theatre import open_theatre
from tests.redis_server import RedisServer

KNOCK = "knock"


class Outage:
    """Takes a server away at one call of those that are of this `kind` (their name, and which
    server they are about), and brings it back after the answer to the client.

    `failure` is the error that this call itself meets.
    """

    def __init__(
        self,
        server: RedisServer | ChromaServer,
        kind: tuple[str, str],
        number: int,
        *,
        paused: bool,
        failure: int | None = None,
    ) -> None:
        self._server = server
        self._kind = kind
        self._left = number
        self._paused = paused
        self._failure = failure
        self._since: float | None = None
        self.lasted_s = 0.0

    def decide(self, call: Call, run: Run) -> int | None:
        if run.said:
            self.end()
        elif (call.name, call.file) == self._kind:
            self._left -= 1
            if self._left == -1:
                self._begin()
                return self._failure
        return None

    def end(self) -> None:
        if self._since is None:
            return
        self.lasted_s = time.monotonic() - self._since
        self._since = None
        if self._paused:
            self._server.process.send_signal(signal.SIGCONT)
        else:
            self._server.start()

    def _begin(self) -> None:
        self._since = time.monotonic()
        if self._paused:
            self._server.process.send_signal(signal.SIGSTOP)
        else:
            self._server.kill()


async def knock(stage: Stage) -> None:
    """Change a file, so that `decide` is asked, and the server is back before the next step."""
    (stage.engine.settings.home / KNOCK).touch()


def tally_outages(name: str, points: int, seed: int, models: Path) -> Tally:
    """Have Redis killed, and paused, at so many of the requests of a scene."""
    scene = SCENES[name]
    tally = Tally(name)
    with open_theatre(scene, models) as theatre:
        assert theatre.redis
        tally.calls = sum(call.file == REDIS for call in theatre.act().calls)
        after = theatre.look()
        for request in choose(tally.calls, points, seed):
            for paused in (False, True):
                outage = Outage(theatre.redis, ("sendto", REDIS), request, paused=paused)
                run = theatre.act(outage.decide, knock, scene.server.look, scene.act)
                outage.end()
                if len(run.said) > 1:
                    del run.said[1]  # the knock's
                where = f"Redis {'paused' if paused else 'killed'} at request {request}"
                tally.points += 1
                tally.acknowledged += bool(run.said) and not failure(run.said[0])
                tally.note(where, judge(theatre, after, run, 3))
                tally.note(where, examine(theatre, after, done=is_done(run)))
    return tally


if __name__ == "__main__":
    name, points, seed, models = sys.argv[1:]
    print(tally_outages(name, int(points), int(seed), Path(models)).to_json())
