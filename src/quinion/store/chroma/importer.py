"""Takes over what another program wrote into a Chroma, without embedding anything again.

Collections of the contracts are taken, and those that a mirror of ours has marked with their
model. A record that the store has already is left as it is. Nothing is changed in Chroma.
"""

from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from quinion.errors import InvalidInput, StoreUnavailable
from quinion.store.base import VectorStore
from quinion.store.chroma.client import DATABASE, ChromaClient, Location, pages_of_ids
from quinion.store.chroma.process import open_chroma

Required = Mapping[str, frozenset[str]]
"""By the name of a contract's collection, the keys that the metadata of its records must have."""


@dataclass(slots=True)
class Imported:
    """What became of the records of a collection: how many were imported, were in the store
    already, and are there in another version; the ids of those that can't be read or lack metadata
    that the contract requires; and why it could not be imported to its end."""

    imported: int = 0
    present: int = 0
    different: int = 0
    unreadable: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    failure: str = ""


@dataclass(slots=True)
class ImportReport:
    """What became of the collections, by name, and the names of those that were ignored."""

    collections: dict[str, Imported] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)


def import_chroma(
    store: VectorStore,
    source: Location,
    required: Required,
    skip: Collection[tuple[str, str]] = frozenset(),
) -> ImportReport:
    """Copy the records of a Chroma into the store, some thousand in a transaction.

    `skip` names records that are not to be copied, by collection and id, and whole collections
    by an empty id.

    Raises:
        StoreUnavailable: Chroma can't be read, or the store can't be written.
    """
    if isinstance(source, Path) and not (source / DATABASE).exists():
        raise StoreUnavailable(
            f"There is no Chroma in {source}: it has no {DATABASE}. Name the folder that the "
            "other program's Chroma persists to."
        )
    report = ImportReport()
    with closing(open_chroma(source)) as chroma:
        for name, model in sorted(chroma.collections().items()):
            if not model and name not in required:
                report.ignored.append(name)
                continue
            done = report.collections[name] = Imported()
            ours = store.model(name)
            if model and ours and model != ours:
                done.failure = f"it was made with {model}, and the store's with {ours}"
                continue
            keys = required.get(name, frozenset())
            try:
                for page in pages_of_ids(chroma, name) if (name, "") not in skip else ():
                    ids = [id_ for id_ in page if (name, id_) not in skip]
                    _import(store, chroma, name, model, ids, keys, done)
            except (StoreUnavailable, InvalidInput) as error:
                # One graph is damaged, or has other dimensions; the others may not.
                done.failure = error.message
    return report


def _import(
    store: VectorStore,
    chroma: ChromaClient,
    name: str,
    model: str,
    ids: list[str],
    keys: frozenset[str],
    done: Imported,
) -> None:
    found = chroma.fetch(name, ids)
    known = {record.id: record for record in store.get(name, ids=ids)}
    new = [copy for id_, copy in found.items() if id_ not in known]
    valid = [copy for copy in new if keys <= copy[0].metadata.keys()]
    if valid:
        records, vectors = zip(*valid, strict=True)
        with store.transaction() as transaction:
            transaction.upsert(name, records, np.stack(vectors), model)
    done.imported += len(valid)
    done.present += len(known)
    done.different += sum(known[id_] != found[id_][0] for id_ in known if id_ in found)
    done.unreadable += [id_ for id_ in ids if id_ not in found]
    done.invalid += [record.id for record, _ in new if not keys <= record.metadata.keys()]
