"""Outage tests: Redis is killed or paused at a request, until the client has its answer.

    python -m tests.crash.outages SCENE POINTS SEED MODELS

Prints the tally as JSON. The checks are those of `faults`.
"""

import shutil
import signal
import sys
from enum import StrEnum
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


class How(StrEnum):
    """Kind of outage."""

    KILLED = "killed"
    PAUSED = "paused"
    EMPTIED = "killed and restarted empty"


class Outage:
    """Stops a server at one of the calls of this `kind` (name and server), and restarts it after
    the given number of answers.

    If `number` is None, it stops at the first call of any kind. `failure` is the error of the call
    itself.
    """

    def __init__(
        self,
        server: RedisServer | ChromaServer,
        kind: tuple[str, str],
        number: int | None,
        how: How,
        *,
        answers: int = 1,
        failure: int | None = None,
    ) -> None:
        self._server = server
        self._kind = kind
        self._left = number
        self.how = how
        self._answers = answers
        self._failure = failure
        self._is_away = False
        self.happened = False

    def decide(self, call: Call, run: Run) -> int | None:
        if len(run.said) >= self._answers:
            self.end()
        elif not self.happened and self._is_now(call):
            self._begin()
            return self._failure
        return None

    def end(self) -> None:
        if not self._is_away:
            return
        self._is_away = False
        if self.how is How.PAUSED:
            self._server.process.send_signal(signal.SIGCONT)
        else:
            self._server.start()

    def _is_now(self, call: Call) -> bool:
        if self._left is None:
            return True
        if (call.name, call.file) == self._kind:
            self._left -= 1
        return self._left == -1

    def _begin(self) -> None:
        self._is_away = self.happened = True
        if self.how is How.PAUSED:
            self._server.process.send_signal(signal.SIGSTOP)
            return
        self._server.kill()
        if self.how is How.EMPTIED:
            assert isinstance(self._server, ChromaServer)
            shutil.rmtree(self._server.folder)


async def knock(stage: Stage) -> None:
    """Change a file, so that `decide` is called and the server is back before the next step."""
    (stage.engine.settings.home / KNOCK).touch()


def tally_outages(name: str, points: int, seed: int, models: Path) -> Tally:
    """Kill and pause Redis at some of the requests of a scene."""
    scene = SCENES[name]
    tally = Tally(name)
    with open_theatre(scene, models) as theatre:
        assert theatre.redis
        tally.calls = sum(call.file == REDIS for call in theatre.act().calls)
        after = theatre.look()
        for request in choose(tally.calls, points, seed):
            for how in (How.KILLED, How.PAUSED):
                outage = Outage(theatre.redis, ("sendto", REDIS), request, how)
                run = theatre.act(outage.decide, knock, scene.server.look, scene.act)
                outage.end()
                if len(run.said) > 1:
                    del run.said[1]  # the knock's
                where = f"Redis {how} at request {request}"
                tally.points += 1
                tally.acknowledged += bool(run.said) and not failure(run.said[0])
                tally.note(where, judge(theatre, after, run, 3))
                tally.note(where, examine(theatre, after, done=is_done(run)))
    return tally


if __name__ == "__main__":
    name, points, seed, models = sys.argv[1:]
    print(tally_outages(name, int(points), int(seed), Path(models)).to_json())
