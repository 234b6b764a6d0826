"""`make crash`: kills and fails every operation at many points, and writes `docs/crash.md`.

    python -m tests.crash [--kills 28] [--faults 4] [--outages 1] [--damage 4] [--seed 9]
                          [--jobs CORES+1] [--only SCENE …]

Exits with status 1 if a flaw was found. With --only, the results are printed and the page is not
written.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from quinion.embed.local.weights import prepare
from tests.crash.chroma_calls import PATIENCE_S
from tests.crash.dying import CHROMA_DAMAGE, CHROMA_OUTAGES, FAULTS, KILLS, OUTAGES, tally
from tests.crash.judging import Flaw, Tally
from tests.crash.layer import why_not
from tests.crash.scenes import POLICIES, SCENES, Scene
from tests.redis_server import PROGRAM

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "crash.md"

HEAD = """\
# Crash testing

<!-- Written by `make crash`: change tests/crash. -->

```sh
make crash   # runs all of this again, and writes this page
```

Each operation of each server runs on a small home, again and again. The kernel reports every \
system call that would change a file of that home (`write`, `pwrite64`, `fsync`, `rename`, \
`unlink`, `openat` and two dozen more), every request to Redis, and every request that would \
change something in a Chroma server, before it is executed (seccomp user notification, \
`tests/crash/layer.py`). These changes are numbered over all threads and child processes, from \
opening the home to closing it. At a chosen change the process is killed, the call fails, or a \
server goes away. Points are spaced evenly over the changes that an operation makes, not over \
time; a seed shifts them. [Design](design.md#what-happens-when-the-process-dies-here) has a table \
of what a death at each moment leaves.

Not covered: a power cut (what the kernel was given is kept), and writes to mapped memory between \
two calls.

After each run the home is opened again and checked: the lists, the stored texts, a search and the \
files of the library; `verify`; then the same call is repeated, the state is compared with that of \
an undisturbed run, the home is closed, and the store and its Chroma mirror are checked from \
outside. The columns count what was wrong:

| column | meaning |
| --- | --- |
| lost | acknowledged and missing or not found; or there before, and neither intact nor replaced |
| orphans | something that belongs to nothing, or a problem that `verify` reports |
| half-visible | a reader saw a part of the operation |
| failed repeats | the home can't be opened, or the same call does not lead to the same state |
| mirror incomplete | after a clean close, Chroma does not have exactly the records of the store |
| undocumented errors | the answer under a failure is an internal error, or is missing |
| failed calls | a call failed, or took longer than usual, because of Chroma |
"""

ABOUT_KILLS = """\
## SIGKILL

Instead of a change, the process and its children are killed. Half of the points are before the \
answer to the client; the others are after it (*answered*), while the mirror is updated and files \
are closed.

*Read at* is the number of changes at which a client of the same server read the state while the \
thread that was about to make the change waited. Each list, text and search must be entirely old \
or entirely new, and not old again after something new was seen. The registry of policies is a \
database of its own: its entries change at one moment, and the stored texts at another.
"""

ABOUT_FAULTS = """\
## Disk full, I/O error, read-only

From a change on, every call that would change something fails with `ENOSPC`, `EIO` or `EROFS`: \
until the client has its answer, or until a restart. The answer must be a documented error, or \
success (*succeeded*). Where the disk works again after the answer, the state must be the old or \
the new one, and the same call must succeed in the same process; a file that could not be deleted \
may stay until the restart.
"""

ABOUT_OUTAGES = """\
## Redis killed and paused

At a request, Redis is killed (it keeps what it has acknowledged, `appendfsync always`) or paused, \
and is back once the client has its answer. The checks are the same.
"""

ABOUT_CHROMA_OUTAGES = f"""\
## Chroma server killed, paused and emptied

The store is mirrored to a Chroma server (`CHROMA_URL`). It is killed, paused, or killed and \
restarted without its data: before the home is opened, before it receives a request that would \
change something, or after it has executed one and before its answer arrives. Meanwhile the \
operation, `verify`, the reads and the same operation again must all succeed; all but `verify`, \
which asks the mirror, in their usual time. The server is back before the home is closed. The \
mirror must be complete after that close, and where the server lost its data, after the next one. \
Here Chroma is given {PATIENCE_S:.0f} s to answer, and its mirror is updated at once instead of \
five seconds after the last write, so that both happen at the same time.
"""

ABOUT_CHROMA_DAMAGE = """\
## Chroma folder deleted and damaged

The same for the embedded Chroma: its folder is deleted or replaced by a file, or its database is \
truncated or overwritten, before the home is opened and at points while it is open. All calls must \
succeed, in their usual time, and the mirror must be complete when the home has been opened and \
closed once more.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """Part of the page: the module that runs its plays, the text, the column titles, and the flaws
    that it counts."""

    module: str
    about: str
    numbers: Mapping[str, str]
    flaws: Sequence[Flaw]

    def concerns(self, scene: Scene) -> bool:
        """Whether the scene uses what fails in this part: Redis, or a change that is mirrored."""
        if self.module == OUTAGES:
            return scene.redis
        return self.module in (KILLS, FAULTS) or not (scene.redis or scene.unpack)

    def row(self, found: Tally) -> list[str | int]:
        scene = SCENES[found.scene]
        registry = "" if scene.server is not POLICIES else "Redis" if scene.redis else "file"
        numbers = [getattr(found, name) for name in self.numbers.values()]
        counts = [found.count(flaw) for flaw in self.flaws]
        return [scene.server.name, scene.operation, registry, *numbers, *counts]

    def write(self, tallies: Iterable[Tally]) -> str:
        titles = ["server", "operation", "registry", *self.numbers, *self.flaws]
        return f"{self.about}\n{write_table(titles, [self.row(one) for one in tallies])}\n"


AFTERWARDS = (Flaw.LOST, Flaw.ORPHAN, Flaw.REPEAT, Flaw.MIRROR)
FAILURES = {"failures": "points", "succeeded": "acknowledged"}
PARTS = (
    Part(
        KILLS,
        ABOUT_KILLS,
        {
            "changes": "calls",
            "killed at": "points",
            "answered": "acknowledged",
            "read at": "reads",
        },
        (Flaw.LOST, Flaw.ORPHAN, Flaw.HALF, Flaw.REPEAT, Flaw.MIRROR),
    ),
    Part(FAULTS, ABOUT_FAULTS, FAILURES, (Flaw.WORDLESS, *AFTERWARDS)),
    Part(OUTAGES, ABOUT_OUTAGES, FAILURES, (Flaw.WORDLESS, *AFTERWARDS)),
    Part(CHROMA_OUTAGES, ABOUT_CHROMA_OUTAGES, {"outages": "points"}, (Flaw.FAILED, *AFTERWARDS)),
    Part(CHROMA_DAMAGE, ABOUT_CHROMA_DAMAGE, {"damaged": "points"}, (Flaw.FAILED, *AFTERWARDS)),
)


def main() -> int:
    options = parse_arguments()
    if reason := why_not():
        print(f"The crash tests can't run here: {reason}.")
        return 2
    names = [name for name, scene in SCENES.items() if PROGRAM or not scene.redis]
    names = [name for name in names if name in (options.only or names)]
    points = {
        KILLS: options.kills,
        FAULTS: options.faults,
        OUTAGES: options.faults,
        CHROMA_OUTAGES: options.outages,
        CHROMA_DAMAGE: options.damage,
    }
    begun = time.monotonic()
    with (
        TemporaryDirectory(prefix="quinion-models-") as folder,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        models = Path(folder) / "models"
        prepare(models)
        running = {
            part.module: [
                pool.submit(play, part.module, points[part.module], options.seed, models, name)
                for name in names
                if part.concerns(SCENES[name])
            ]
            for part in PARTS
        }
        tallies = {module: [one.result() for one in some] for module, some in running.items()}
    text = write_page(tallies, options.seed, time.monotonic() - begun)
    if options.only:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
    return int(any(one.flaws for found in tallies.values() for one in found))


def play(module: str, points: int, seed: int, models: Path, name: str) -> Tally:
    """Run a part of a scene and report progress on stderr."""
    found = tally(module, name, points, seed, models)
    flaws = [f"{flaw}: {said}" for flaw, said in found.flaws]
    summary = f"{module} {name}: {found.points} points, {len(flaws)} flaws"
    print(summary, *flaws, sep="\n", file=sys.stderr, flush=True)
    return found


def parse_arguments() -> argparse.Namespace:
    cores = os.cpu_count() or 1
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description="Kill and fail.")
    parser.add_argument("--kills", type=int, default=28, help="kill points of each operation")
    parser.add_argument("--faults", type=int, default=4, help="points of each kind of failure")
    parser.add_argument("--outages", type=int, default=1, help="requests to a Chroma server")
    parser.add_argument("--damage", type=int, default=4, help="points of damage to Chroma's files")
    parser.add_argument("--seed", type=int, default=9, help="shifts the points")
    # One more than the number of cores: outages mostly wait.
    parser.add_argument("--jobs", type=int, default=cores + 1, help="processes at once")
    parser.add_argument("--only", nargs="+", choices=SCENES, help="these alone; only print")
    return parser.parse_args()


def write_page(tallies: Mapping[str, Sequence[Tally]], seed: int, took_s: float) -> str:
    """Render the page."""
    parts = [part.write(tallies[part.module]) for part in PARTS]
    end = f"Seed {seed}; {took_s / 60:.0f} minutes on {os.cpu_count()} cores."
    return "\n".join([HEAD, *parts, end, ""])


def write_table(titles: Sequence[str], rows: Sequence[Sequence[str | int]]) -> str:
    """Render the rows with titles and a row of sums."""
    places = range(3, len(titles))
    sums = [sum(int(row[place]) for row in rows) for place in places]
    bars = ["---"] * 3 + ["---:"] * len(places)
    lines: list[Sequence[str | int]] = [titles, bars, *rows, ["**all**", "", "", *sums]]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)


if __name__ == "__main__":
    sys.exit(main())
