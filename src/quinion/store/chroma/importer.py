"""Takes over what another program wrote into a Chroma, without embedding anything again.

Collections of the contracts are taken, and those that a mirror of ours has marked with their
model. A record that the store has already is left as it is. Nothing is changed in Chroma.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from quinion.errors import InvalidInput, StoreUnavailable
from quinion.store.base import VectorStore
from quinion.store.chroma.client import DATABASE, ChromaClient, Location
from quinion.store.chroma.process import open_chroma

STEP = 1_000

Required = Mapping[str, frozenset[str]]
"""By the name of a contract's collection, the keys that the metadata of its records must have."""


@dataclass(slots=True)
class ImportReport:
    """What became of the records, by collection: the numbers of those that were imported, that
    the store had already, and that it has in another version; the ids of those that can't be read
    or lack metadata that the contract requires. And the collections that were ignored, and why
    others could not be imported to their end."""

    imported: dict[str, int] = field(default_factory=dict)
    present: dict[str, int] = field(default_factory=dict)
    different: dict[str, int] = field(default_factory=dict)
    unreadable: dict[str, list[str]] = field(default_factory=dict)
    invalid: dict[str, list[str]] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def import_chroma(
    store: VectorStore,
    source: Location,
    required: Required,
    skip: Collection[tuple[str, str]] = frozenset(),
) -> ImportReport:
    """Copy the records of a Chroma into the store, a thousand in a transaction.

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
            ours = store.model(name)
            if model and ours and model != ours:
                report.failed[name] = f"it was made with {model}, and the store's with {ours}"
                continue
            try:
                for page in pages_of_ids(chroma, name) if (name, "") not in skip else ():
                    wanted = [id_ for id_ in page if (name, id_) not in skip]
                    for start in range(0, len(wanted), STEP):
                        some = wanted[start : start + STEP]
                        _import(store, chroma, name, model, some, required, report)
            except (StoreUnavailable, InvalidInput) as error:
                # One graph is damaged, or has other dimensions; the others may not.
                report.failed[name] = error.message
    return report


def pages_of_ids(chroma: ChromaClient, collection: str) -> Iterator[list[str]]:
    """The ids of all records, some thousand at a time: all at once is more than Chroma's
    database can bind."""
    start = 0
    while page := chroma.page_of_ids(collection, start):
        yield page
        start += len(page)


def _import(
    store: VectorStore,
    chroma: ChromaClient,
    name: str,
    model: str,
    ids: list[str],
    required: Required,
    report: ImportReport,
) -> None:
    found, unreadable = chroma.fetch(name, ids)
    known = {record.id: record for record in store.get(name, ids=ids)}
    keys = required.get(name, frozenset())
    new = [found[id_] for id_ in ids if id_ in found and id_ not in known]
    valid = [(record, vector) for record, vector in new if keys <= record.metadata.keys()]
    invalid = [record.id for record, _ in new if not keys <= record.metadata.keys()]
    if valid:
        with store.transaction() as transaction:
            records, vectors = zip(*valid, strict=True)
            transaction.upsert(name, records, np.stack(vectors), model)
    different = sum(known[id_] != found[id_][0] for id_ in known if id_ in found)
    for counts, number in (
        (report.imported, len(valid)),
        (report.present, len(known)),
        (report.different, different),
    ):
        if number:
            counts[name] = counts.get(name, 0) + number
    for lists, some in ((report.unreadable, unreadable), (report.invalid, invalid)):
        if some:
            lists.setdefault(name, []).extend(some)
