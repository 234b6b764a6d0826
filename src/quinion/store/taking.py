"""A Chroma folder, read in a process of its own.

Chroma's core trusts its files: a flipped bit in its graph can end the process that reads it
(SIGSEGV), or make it wait for ever. So where there is doubt a child reads, and if it dies or falls
silent that is an answer as well. What it reads it can write into a ledger, which a death leaves as
it was before the last step.
"""

import json
import os
import select
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
SILENCE_S = 120.0
"""The longest that a child may take for a step; the first of a collection loads its graph."""
PIPE_BYTES = 1 << 16
CHILD = (sys.executable, "-m", "quinion.store.taking")


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
    child = subprocess.Popen([*CHILD, where, str(ledger or "")], stdout=subprocess.PIPE)
    said = _listen(child)
    if child.returncode < 0:
        how = (
            f"it ends the process that reads it (signal {-child.returncode})"
            if said is not None
            else f"a process that reads it has been silent for {SILENCE_S:.0f} seconds"
        )
        raise StoreUnavailable(
            f"The vector store at {place} is damaged: {how}. "
            "Stop the server and run quinion rebuild."
        )
    answer = json.loads(said or "{}")
    if child.returncode or "error" in answer:
        raise StoreUnavailable(answer.get("error", f"The vector store at {place} can't be read."))
    return Taken(**answer)


def _listen(child: "subprocess.Popen[bytes]") -> bytes | None:
    """All that it says until it ends; None: it fell silent, and was ended."""
    assert child.stdout is not None
    said = b""
    with child:
        sounds = select.poll()
        sounds.register(child.stdout, select.POLLIN)
        while sounds.poll(1000 * SILENCE_S):
            if not (part := os.read(child.stdout.fileno(), PIPE_BYTES)):
                return said
            said += part
        child.kill()
    return None


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
                print(flush=True)  # a sign of life; the answer is the line that is not empty
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
