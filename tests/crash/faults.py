"""Fault tests: the disk fails from one change on (full, I/O error, read-only).

    python -m tests.crash.faults SCENE POINTS SEED MODELS

Prints the tally as JSON. Each kind of failure is tried at each point. Half of the points are before
the answer, and there the disk works again once it has been given: then the state in the same
process must be the old or the new one, and the same call must succeed. The other half are anywhere,
and the disk fails until the restart. The answer must be one that the contract documents, and after
the restart the checks are those after a kill.
"""

import errno
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from tests.crash.judging import Flaw, Tally, examine, name_point
from tests.crash.kills import choose
from tests.crash.layer import OPENS, Call, Decide, Run
from tests.crash.scenes import SCENES, State, failure
from tests.crash.theatre import Theatre, open_theatre

WRITES = frozenset(
    {"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "copy_file_range"}
)
NAMES = frozenset(
    {"mkdir", "mkdirat", "rename", "renameat", "renameat2"}
    | {"link", "linkat", "symlink", "symlinkat"}
)
SYNCS = frozenset({"fsync", "fdatasync", "sync_file_range"})
SIZES = frozenset({"ftruncate", "truncate", "fallocate"})
REMOVALS = frozenset({"unlink", "unlinkat", "rmdir"})

SHOWN = 3000
"""Characters of a log that are shown."""
INTERNAL = ("internal_error", "INTERNAL_ERROR", "failed unexpectedly")


@dataclass(frozen=True, slots=True)
class Fault:
    """An error and the calls that fail with it. On a full disk, existing files can be opened."""

    name: str
    error: int
    calls: frozenset[str]

    def fails(self, call: Call, home: Path) -> bool:
        if self.error == errno.ENOSPC and call.name in OPENS:
            return not (home / call.file).exists()
        return call.name in self.calls


FAULTS = (
    Fault("disk full", errno.ENOSPC, WRITES | NAMES | OPENS | {"fallocate"}),
    Fault("I/O error", errno.EIO, WRITES | SYNCS | SIZES),
    Fault("read-only", errno.EROFS, WRITES | NAMES | OPENS | SIZES | REMOVALS),
)


def fail_from(fault: Fault, place: int, home: Path, *, lasting: bool) -> Decide:
    """Make calls fail from this change on; until the answer, unless the fault is lasting."""

    def decide(call: Call, run: Run) -> int | None:
        healed = run.said and not lasting
        if healed or call.place < place or not fault.fails(call, home):
            return None
        return fault.error

    return decide


def judge(theatre: Theatre, after: State, run: Run, expected: int) -> Iterator[tuple[Flaw, str]]:
    """Check the answer under the fault and, if more is expected, the state and answer after it."""
    if run.hung or len(run.said) < expected:
        how = "it hung" if run.hung else f"it ended with {run.status}"
        flaw = Flaw.REPEAT if run.said else Flaw.WORDLESS
        yield flaw, f"{how} after {len(run.said)} answers:\n{theatre.read_log()[-SHOWN:]}"
        return
    answer, *later = run.said
    if any(word in str(answer) for word in INTERNAL):
        yield Flaw.WORDLESS, f"it answers {answer}\n{theatre.read_log()[-SHOWN:]}"
    if later:
        state, again = _without_files(later[0]), later[1]
        old, new = _without_files(theatre.before), _without_files(after)
        if state not in ([old, new] if failure(answer) else [new]):
            yield Flaw.ORPHAN, f"after {failure(answer) or 'success'} it is neither old nor new"
        if failure(again) and not (state == new and failure(again) == theatre.scene.again):
            yield Flaw.REPEAT, f"in the same process the same call answers {again}"


def _without_files(state: State) -> State:
    """Return the state that clients see. A file that could not be deleted stays until a restart."""
    return {part: items for part, items in state.items() if part != "kept"}


def is_done(run: Run) -> bool:
    """Whether one of the answers reports that the call succeeded."""
    answers = run.said[::2]  # between two of them there is a state
    return any(not failure(answer) for answer in answers)


def tally_faults(name: str, points: int, seed: int, models: Path) -> Tally:
    """Make the disk fail in each way, from each of the points on."""
    scene = SCENES[name]
    tally = Tally(name)
    with open_theatre(scene, models) as theatre:
        usual = theatre.act()
        after = theatre.look()
        tally.calls = len(usual.calls)
        passing = choose(usual.unsaid, points - points // 2, seed)
        lasting = choose(len(usual.calls), points // 2, seed)
        tries = [(place, False) for place in passing] + [(place, True) for place in lasting]
        for (place, lasts), fault in product(tries, FAULTS):
            theatre.read_log()
            decide = fail_from(fault, place, theatre.settings.home, lasting=lasts)
            then = () if lasts else (scene.server.look, scene.act)
            run = theatre.act(decide, *then)
            until = "the restart" if lasts else "the answer"
            where = f"{fault.name} from {name_point(usual.calls[place])} until {until}"
            tally.points += 1
            tally.acknowledged += bool(run.said) and not failure(run.said[0])
            tally.note(where, judge(theatre, after, run, 1 + len(then)))
            tally.note(where, examine(theatre, after, done=is_done(run)))
    return tally


if __name__ == "__main__":
    name, points, seed, models = sys.argv[1:]
    print(tally_faults(name, int(points), int(seed), Path(models)).to_json())
