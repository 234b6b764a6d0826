"""Read tests: a client reads before each change of a file while an operation runs.

The thread that would make the change waits at any point of its transaction, and a client of the
same server reads the lists, the stored texts and a search. Each must be entirely old or entirely
new, and after something new was seen, nothing old may be seen.

A reader may have to wait for the operation if both use the registry of policies. The change is
then made after a second, and the reader continues.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any

import anyio

from quinion.store.chroma import replicator
from tests.crash.judging import Flaw, Tally, name_point
from tests.crash.layer import HOLD, OPENS, Call, Run
from tests.crash.scenes import Answer, Stage, State
from tests.crash.theatre import Theatre

READY, READ = "ready", "read"
PARTS = ("found", "listed", "stored")
"""Parts of a state, in the order in which they are read."""
REGISTRY = "policies.db"
LOGGED = 3_000
"""Characters of a log that are shown."""


class Reader:
    """Client that reads the state when `decide` requests it."""

    def __init__(self, theatre: Theatre) -> None:
        self._scene = theatre.scene
        self._ears, self._mouth = os.pipe()
        self.points: list[str] = []

    def close(self) -> None:
        os.close(self._ears)
        os.close(self._mouth)

    def decide(self, call: Call, run: Run) -> int | None:
        """Hold each change that is made during the operation."""
        is_running = run.said and (READY in run.said[-1] or READ in run.said[-1])
        is_reading = len(self.points) > sum(READ in said for said in run.said)
        # Opening a file changes nothing for readers; opening the SQLite registry blocks.
        is_of_no_interest = call.name in OPENS or call.file.startswith(REGISTRY)
        if call.by_main or not is_running or is_reading or is_of_no_interest:
            return None
        self.points.append(name_point(call))
        os.write(self._mouth, b"\n")
        return HOLD

    async def act(self, stage: Stage) -> Answer:
        """Make the scene's call while the reader runs."""
        await self._scene.server.look(stage)  # loads the model
        stage.say({READY: True})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, stage)
            answer: Answer = await self._scene.act(stage)
            tasks.cancel_scope.cancel()
        return answer

    async def _read(self, stage: Stage) -> None:
        while True:
            await anyio.wait_readable(self._ears)
            os.read(self._ears, 1)
            with anyio.CancelScope(shield=True):
                stage.say({READ: await self._scene.server.look(stage)})


def read_during(theatre: Theatre, after: State, tally: Tally) -> None:
    """Read at each change of the scene's operation, and record where part of it was visible."""
    reader = Reader(theatre)
    quiet_s = replicator.QUIET_S
    replicator.QUIET_S = 3600.0  # the mirror is not part of the operation, which takes longer here
    try:
        run = theatre.play([reader.act], reader.decide)
    finally:
        replicator.QUIET_S = quiet_s
        reader.close()
    tally.reads = len(reader.points)
    tally.note("read meanwhile", judge_reads(theatre, after, run, reader.points))


def judge_reads(
    theatre: Theatre, after: State, run: Run, points: list[str]
) -> Iterator[tuple[Flaw, str]]:
    """Return the reads that match neither state, and old reads after a new one."""
    seen = [said[READ] for said in run.said if READ in said]
    if run.hung or run.status or len(seen) < len(points):
        how = f"{len(seen)} of {len(points)} reads were done"
        log = theatre.read_log()[-LOGGED:]
        yield Flaw.HALF, f"{how}; it ended with {run.status} (hung: {run.hung})\n{log}"
        return
    is_new: dict[str, bool] = {}
    for state, point in zip(seen, points, strict=True):
        for part in PARTS:
            # A part with a separate database changes at a different moment.
            unit = part if theatre.scene.server.has_registry else "all"
            old, new = _fits(state, theatre.before, part), _fits(state, after, part)
            if old and new:
                continue
            if not old and not new:
                yield Flaw.HALF, f"{point}: {part} is neither old nor new"
            elif old and is_new.get(unit):
                yield Flaw.HALF, f"{point}: {part} is old after something new was seen"
            is_new[unit] = new


def _fits(state: Mapping[str, Any], expected: State, part: str) -> bool:
    return bool(state[part] == expected[part])
