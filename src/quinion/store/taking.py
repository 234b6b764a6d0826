"""What a Chroma has of ours, taken into a ledger that lacks it."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from quinion.model.record import Record
from quinion.store.apart import open_chroma
from quinion.store.chroma import DATABASE, Place
from quinion.store.ledger import Ledger
from quinion.store.rows import Vectors

STEP = 1_000


def take_all(place: Place, folder: Path) -> list[str]:
    """Read all that Chroma has of ours, and give the ledger in that folder what it lacks; the
    collections of other programs, which are left alone.

    Raises:
        StoreUnavailable: Chroma can't be read; the message says why. What was read until then is
            in the ledger.
    """
    if place.folder and not place.url and not (place.folder / DATABASE).exists():
        return []  # and none is made by looking
    with closing(open_chroma(place)) as chroma, closing(Ledger(folder)) as ledger:
        for name in chroma.marked():
            for page in chroma.pages_of_ids(name):
                for start in range(0, len(page), STEP):
                    some = page[start : start + STEP]
                    sound, _ = chroma.get_sound(name, some)
                    _give(ledger, name, [sound[id_] for id_ in some if id_ in sound])
            if ledger.count(name) and not ledger.fingerprint(name):
                ledger.mark(name, chroma.fingerprint(name))
        return chroma.unmarked()


def _give(ledger: Ledger, collection: str, sound: Sequence[tuple[Record, Vectors]]) -> None:
    known = {record.id for record in ledger.get(collection, ids=[one.id for one, _ in sound])}
    new = [(record, vector) for record, vector in sound if record.id not in known]
    if new:
        records, vectors = zip(*new, strict=True)
        ledger.upsert(collection, records, np.stack(vectors), from_chroma=True)
