"""A Chroma folder, read in a process of its own.

Chroma's core trusts its files: a flipped bit in its graph can end the process that reads it
(SIGSEGV). So where there is doubt a child reads, and if it dies that is an answer as well. What it
reads it can write into a ledger, which a death leaves as it was before the last step.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from quinion.errors import QuinionError, StoreUnavailable
from quinion.model.record import Record
from quinion.store.chroma import DATABASE, Chroma, Place
from quinion.store.ledger import Ledger
from quinion.store.rows import Vectors

STEP = 1_000


@dataclass(frozen=True, slots=True)
class Taken:
    """What was found: how many records, the ids of those that can't be read, by collection, and
    the collections of other programs, which are left alone."""

    records: int = 0
    unread: dict[str, list[str]] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


def read_through(place: Place, ledger: Path | None = None) -> Taken:
    """Read all that Chroma has of ours, and give the ledger in that folder what it lacks.

    Raises:
        StoreUnavailable: Chroma can't be read; the message says why.
    """
    if place.folder and not place.url and not (place.folder / DATABASE).exists():
        return Taken()  # and none is made by looking
    where = place.url or str(place.folder)
    ended = subprocess.run(
        [sys.executable, "-m", "quinion.store.taking", where, str(ledger or "")],
        stdout=subprocess.PIPE,
        check=False,
    )
    if ended.returncode < 0:
        raise StoreUnavailable(
            f"The vector store at {place} is damaged: it ends the process that reads it "
            f"(signal {-ended.returncode}). Stop the server and run quinion rebuild."
        )
    answer = json.loads(ended.stdout or "{}")
    if ended.returncode or "error" in answer:
        raise StoreUnavailable(answer.get("error", f"The vector store at {place} can't be read."))
    return Taken(**answer)


def take_in(chroma: Chroma, ledger: Ledger | None) -> Taken:
    """What the child does."""
    records = 0
    unread: dict[str, list[str]] = {}
    marked = chroma.marked()
    for name in marked:
        for page in chroma.pages_of_ids(name):
            for start in range(0, len(page), STEP):
                some = page[start : start + STEP]
                sound, lost = chroma.get_sound(name, some)
                records += len(sound)
                if lost:
                    unread.setdefault(name, []).extend(lost)
                if ledger:
                    _give(ledger, name, [sound[id_] for id_ in some if id_ in sound])
        if ledger and ledger.count(name) and not ledger.fingerprint(name):
            ledger.mark(name, chroma.fingerprint(name))
    return Taken(records, unread, chroma.unmarked())


def _give(ledger: Ledger, collection: str, sound: Sequence[tuple[Record, Vectors]]) -> None:
    known = {record.id for record in ledger.get(collection, ids=[one.id for one, _ in sound])}
    new = [(record, vector) for record, vector in sound if record.id not in known]
    if new:
        records, vectors = zip(*new, strict=True)
        ledger.upsert(collection, records, np.stack(vectors), from_chroma=True)


def main(where: str, ledger_folder: str) -> None:
    """Print the answer as JSON."""
    place = Place(url=where) if where.startswith(("http://", "https://")) else Place(Path(where))
    try:
        if not ledger_folder:
            taken = take_in(Chroma(place), None)
        else:
            with closing(Ledger(Path(ledger_folder))) as ledger:
                taken = take_in(Chroma(place), ledger)
        answer = asdict(taken)
    except QuinionError as error:
        answer = {"error": error.message}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
