"""Import of records that another program wrote into a Chroma, without new embeddings.

Imported are the collections of the contracts, and those that a quinion mirror has marked with
their model. Existing records of the store are not changed, nor is anything in Chroma.
"""

from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from quinion.errors import InvalidInput, StoreUnavailable
from quinion.store.base import VectorStore
from quinion.store.chroma.client import DATABASE, Copy, Location, pages
from quinion.store.chroma.process import open_chroma

Required = Mapping[str, frozenset[str]]
"""Required metadata keys of records, by the name of a contract's collection."""


@dataclass(slots=True)
class Imported:
    """Result for one collection.

    `present` counts records that the store already had, `different` those of them that differ.
    `unreadable` and `invalid` are the ids of records that can't be read or lack required metadata.
    `failure` is the reason why the import of the collection stopped.
    """

    imported: int = 0
    present: int = 0
    different: int = 0
    unreadable: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    failure: str = ""


@dataclass(slots=True)
class ImportReport:
    """Results by collection, and the names of ignored collections."""

    collections: dict[str, Imported] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)


def import_chroma(
    store: VectorStore,
    source: Location,
    required: Required,
    skip: Collection[tuple[str, str]] = frozenset(),
) -> ImportReport:
    """Copy the records of a Chroma into the store, a few thousand per transaction.

    `skip` lists records to leave out, by collection and id; an empty id stands for all records of
    the collection.

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
                for page in pages(chroma, name) if (name, "") not in skip else ():
                    wanted = {id_: page[id_] for id_ in page if (name, id_) not in skip}
                    _import(store, name, model, wanted, keys, done)
            except (StoreUnavailable, InvalidInput) as error:
                # This graph is damaged, or has other dimensions; other collections may be intact.
                done.failure = error.message
    return report


def _import(
    store: VectorStore,
    name: str,
    model: str,
    page: Mapping[str, Copy | None],
    keys: frozenset[str],
    done: Imported,
) -> None:
    found = {id_: copy for id_, copy in page.items() if copy}
    known = {record.id: record for record in store.get(name, ids=[*page])}
    new = [copy for id_, copy in found.items() if id_ not in known]
    valid = [copy for copy in new if keys <= copy[0].metadata.keys()]
    if valid:
        records, vectors = zip(*valid, strict=True)
        with store.transaction() as transaction:
            transaction.upsert(name, records, np.stack(vectors), model)
    done.imported += len(valid)
    done.present += len(known)
    done.different += sum(known[id_] != found[id_][0] for id_ in known if id_ in found)
    done.unreadable += [id_ for id_ in page if id_ not in found]
    done.invalid += [record.id for record, _ in new if not keys <= record.metadata.keys()]
