"""What a Chroma has of ours, taken into a ledger that lacks it."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from quinion.errors import StoreUnavailable
from quinion.model.record import Record
from quinion.store.apart import open_chroma
from quinion.store.chroma import DATABASE, Chroma, Place
from quinion.store.ledger import Ledger
from quinion.store.proof import Fault, Finding
from quinion.store.rows import Vectors

STEP = 1_000


@dataclass(slots=True)
class Taken:
    """The collections of other programs, which are left alone; why something could not be looked
    for; whether all that was found could be read; what could not, if the ledger lacks it too."""

    others: list[str] = field(default_factory=list)
    unreadable: str = ""
    is_all: bool = True
    lost: list[Finding] = field(default_factory=list)


def take_all(place: Place, folder: Path) -> Taken:
    """Read all that Chroma has of ours, and give the ledger in that folder what it lacks."""
    taken = Taken()
    if place.folder and not place.url and not (place.folder / DATABASE).exists():
        return taken  # and none is made by looking
    with closing(open_chroma(place)) as chroma, closing(Ledger(folder)) as ledger:
        try:
            names = chroma.marked()
            taken.others = chroma.unmarked()
        except StoreUnavailable as error:
            taken.unreadable = error.message
            return taken
        for name in names:
            try:
                _take(chroma, ledger, name, taken)
            except StoreUnavailable as error:  # of this collection
                taken.unreadable = error.message
    return taken


def _take(chroma: Chroma, ledger: Ledger, collection: str, taken: Taken) -> None:
    for page in chroma.pages_of_ids(collection):
        for start in range(0, len(page), STEP):
            some = page[start : start + STEP]
            sound, unread = chroma.get_sound(collection, some)
            _give(ledger, collection, [sound[id_] for id_ in some if id_ in sound])
            taken.is_all = taken.is_all and not unread
            known = {record.id for record in ledger.get(collection, ids=unread)}
            taken.lost += [
                Finding(collection, id_, Fault.NO_VECTOR) for id_ in unread if id_ not in known
            ]
    if ledger.count(collection) and not ledger.fingerprint(collection):
        ledger.mark(collection, chroma.fingerprint(collection))


def _give(ledger: Ledger, collection: str, sound: Sequence[tuple[Record, Vectors]]) -> None:
    known = {record.id for record in ledger.get(collection, ids=[one.id for one, _ in sound])}
    new = [(record, vector) for record, vector in sound if record.id not in known]
    if new:
        records, vectors = zip(*new, strict=True)
        ledger.upsert(collection, records, np.stack(vectors), from_chroma=True)
