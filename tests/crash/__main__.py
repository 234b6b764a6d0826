"""`make crash`: every operation killed and failed at many points, and `docs/crash.md` written.

    python -m tests.crash [--kills 32] [--faults 4] [--seed 9] [--jobs CORES] [--only SCENE …]

Ends with status 1 when anything was lost, left over, refused or hung. With --only, what was found
is printed and the page stays as it is.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from quinion.embed.weights import prepare
from quinion.store.chroma import SERVER_TIMEOUT_S
from tests.crash.chroma_outages import PATIENCE_S
from tests.crash.dying import CHROMA_OUTAGES, FAULTS, KILLS, OUTAGES, tally
from tests.crash.judging import Flaw, Tally
from tests.crash.layer import why_not
from tests.crash.scenes import POLICIES, SCENES
from tests.redis_server import PROGRAM

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "crash.md"

HEAD = """\
# Killed and failed on purpose

<!-- Written by `make crash`: change tests/crash. -->

```sh
make crash   # does all of this anew, and writes this page
```

Each operation is run on a small home, while the kernel asks about every system call that would \
change a file of that home (`write`, `pwrite64`, `fsync`, `rename`, `unlink`, `openat` and two \
dozen more), about every request to Redis, and about every one that would change something in a \
Chroma server (`tests/crash/layer.py`). They are counted over all threads and processes, from the \
opening of the home to its closing, so the points below are chosen from what the operation does, \
and not by the clock. Points lie evenly; a seed moves them.

What this does not show: a loss of power (what the kernel was given is kept), and what is written \
to mapped memory between two calls.
"""

ABOUT_KILLS = """\
## SIGKILL

Instead of the call, the process is killed. Then the home is opened anew and looked at: the lists, \
the stored texts, a search, the files that are kept; `verify`; the same call; the lists and \
`verify` again. *Lost*: acknowledged and not there or not found by a search, or there before and \
neither whole nor replaced. *Orphans*: something that belongs to nothing, or a disagreement that \
`verify` names. *Failed repeats*: the home can't be opened, or the same call does not come to the \
same end. *Answered*: kills after the client had its answer, while Chroma was brought up to \
date and files were closed.
"""

ABOUT_FAULTS = """\
## Disk full, I/O errors, read-only

From a call on, all that would change something fails with `ENOSPC`, `EIO` or `EROFS`: until the \
client is answered, or until a restart. The answer has to be an error of the contract, or true. \
Where the disk is well again after the answer, clients have to find all as it was or as it was to \
be, and the same call has to work in the same process; a file that could not be deleted may stay. \
After the restart all is asked that is asked above.
"""

ABOUT_OUTAGES = """\
## Redis killed and paused

At a request, Redis is killed (it keeps all that it has acknowledged, `appendfsync always`) or \
paused, and is there again once the client is answered. What is asked is the same.
"""

ABOUT_CHROMA_OUTAGES = f"""\
## A Chroma server killed and paused

The same operations with Chroma as a server (`CHROMA_URL`), which each write waits for. At a \
request that would change something there (a collection made, marked or dropped; records written \
or deleted), the server is killed or paused: before it gets the request, or when it has done what \
it was asked and its answer is lost. It is there again once the client is answered. What is asked \
is the same; besides, `verify` is asked in the same process as well, and the client has to be \
answered within a minute. One answer of Chroma is waited for {SERVER_TIMEOUT_S:.0f} s, here \
{PATIENCE_S:.0f} s, and the minute is shorter likewise.
"""


def main() -> int:
    options = parse_arguments()
    if reason := why_not():
        print(f"Nothing can be killed here: {reason}.")
        return 2
    names = [name for name, scene in SCENES.items() if PROGRAM or not scene.redis]
    names = [name for name in names if name in (options.only or names)]
    begun = time.monotonic()
    with (
        TemporaryDirectory(prefix="quinion-models-") as folder,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        prepare(Path(folder) / "models")
        models = Path(folder) / "models"
        kills = list(pool.map(partial(play, KILLS, options.kills, options.seed, models), names))
        faults = list(pool.map(partial(play, FAULTS, options.faults, options.seed, models), names))
        on_redis = [name for name in names if SCENES[name].redis]
        outages = list(
            pool.map(partial(play, OUTAGES, options.faults, options.seed, models), on_redis)
        )
        on_disk = [name for name in names if not SCENES[name].redis]
        chroma_outages = list(
            pool.map(partial(play, CHROMA_OUTAGES, options.faults, options.seed, models), on_disk)
        )
    tallies = kills, faults, outages, chroma_outages
    text = write_page(*tallies, options.seed, time.monotonic() - begun)
    if options.only:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
    flaws = [said for found in tallies for one in found for _, said in one.flaws]
    for said in flaws:
        print(said, file=sys.stderr)
    return int(bool(flaws))


def play(module: str, points: int, seed: int, models: Path, name: str) -> Tally:
    """What comes of a scene; says so, for it takes a while."""
    found = tally(module, name, points, seed, models)
    print(f"{module} {name}: {found.points} points, {len(found.flaws)} flaws", file=sys.stderr)
    return found


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description="Kill and fail.")
    parser.add_argument("--kills", type=int, default=32, help="kill points of each operation")
    parser.add_argument("--faults", type=int, default=4, help="points of each kind of failure")
    parser.add_argument("--seed", type=int, default=9, help="moves the points")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="scenes at once")
    parser.add_argument("--only", nargs="+", choices=SCENES, help="these alone; only print")
    return parser.parse_args()


def write_page(
    kills: Sequence[Tally],
    faults: Sequence[Tally],
    outages: Sequence[Tally],
    chroma_outages: Sequence[Tally],
    seed: int,
    took_s: float,
) -> str:
    """The whole page."""
    first = [Flaw.LOST, Flaw.ORPHAN, Flaw.REPEAT]
    kill_table = write_table(
        ["server", "operation", "registry", "changes seen", "killed at", "answered", *first],
        [_row(one, one.calls, one.points, one.acknowledged, flaws=first) for one in kills],
    )
    second = [Flaw.WORDLESS, Flaw.LOST, Flaw.ORPHAN, Flaw.REPEAT]
    titles = ["server", "operation", "registry", "failures", "done all the same", *second]
    fault_table, outage_table, chroma_table = (
        write_table(
            titles, [_row(one, one.points, one.acknowledged, flaws=second) for one in found]
        )
        for found in (faults, outages, chroma_outages)
    )
    end = f"Seed {seed}; {took_s / 60:.0f} minutes on {os.cpu_count()} cores."
    parts = [HEAD, ABOUT_KILLS, kill_table, "", ABOUT_FAULTS, fault_table, ""]
    parts += [ABOUT_OUTAGES, outage_table, "", ABOUT_CHROMA_OUTAGES, chroma_table, ""]
    return "\n".join([*parts, end, ""])


def write_table(titles: Sequence[str], rows: Sequence[Sequence[str | int]]) -> str:
    """The rows under their titles, and the sum of all numbers."""
    places = range(3, len(titles))
    sums: list[str | int] = [
        "**all**",
        "",
        "",
        *(sum(int(row[place]) for row in rows) for place in places),
    ]
    bars = ["---"] * 3 + ["---:"] * len(places)
    lines: list[Sequence[str | int]] = [titles, bars, *rows, sums]
    return "\n".join(map(_line, lines))


def _row(found: Tally, *numbers: int, flaws: Iterable[Flaw]) -> list[str | int]:
    scene = SCENES[found.scene]
    place = "" if scene.server is not POLICIES else "Redis" if scene.redis else "file"
    counts = (found.count(flaw) for flaw in flaws)
    return [scene.server.name, scene.operation, place, *numbers, *counts]


def _line(cells: Iterable[str | int]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())
