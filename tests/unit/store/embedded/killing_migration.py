"""Kill test of the migration: kills it at evenly spaced file changes, then completes it.

    python -m tests.unit.store.embedded.killing_migration FOLDER

Prints the number of kills and the flaws as JSON. The home has a store of quinion 0.1, an unfinished
operation, and model marks.
"""

import json
import shutil
import sys
from contextlib import closing
from pathlib import Path

from quinion.store.embedded.legacy import adopt_ledger
from quinion.store.embedded.store import EmbeddedStore
from tests import home_v1
from tests.crash.kills import choose
from tests.crash.layer import KILL, Call, Run, Say, watch
from tests.unit.store.embedded.test_legacy import (
    CHUNKS,
    OTHER,
    adopt,
    begin,
    without,
)

POINTS = 24


def prepare(folder: Path) -> Path:
    """Create the home before its migration, with an unfinished ingestion."""
    home = home_v1.unpack(folder / "template")
    begin(home, [[CHUNKS, [["document_id", OTHER]], []]])
    return home


def find_flaws(home: Path) -> list[str]:
    """Find the flaws after a migration."""
    flaws = []
    with closing(EmbeddedStore(home / "store", mirrored=True)) as store:
        if home_v1.read_content(store) != without(OTHER):
            flaws.append("the records are others")
        for name in store.collections():
            flaws += store.check(name).problems
        if len(store.values("policy ")) != 2:
            flaws.append("marks are missing")
    if not any((home / "backups").glob("schema-1-*/journal.db")):
        flaws.append("there is no copy of the small files")
    registry = home_v1.EXPECTED["policies"], home_v1.EXPECTED["revisions"]
    if home_v1.read_registry(home) != registry:
        flaws.append("the registry is another")
    return flaws


def main(folder: Path) -> None:
    """Kill the migration at evenly spaced points."""
    template, home = prepare(folder), folder / "home"

    def play(place: int) -> Run:
        if home.exists():
            shutil.rmtree(home)
        shutil.copytree(template, home)

        def decide(call: Call, _: Run) -> int | None:
            return KILL if call.place == place else None

        def work(_: Say) -> None:
            adopt_ledger(home, home / "store", str(home / "chroma"))

        return watch(home, work, decide, log=folder / "log")

    run = play(-1)
    assert run.status == 0, (folder / "log").read_text()
    wrong = [f"unkilled: {flaw}" for flaw in find_flaws(home)]
    killed = 0
    for place in choose(len(run.calls), POINTS, 1):
        killed += play(place).status == -9
        adopt(home)
        call = run.calls[place]
        wrong += [f"{place}, {call.name} {call.file}: {flaw}" for flaw in find_flaws(home)]
    print(json.dumps({"calls": len(run.calls), "killed": killed, "wrong": wrong}))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
