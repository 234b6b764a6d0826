"""The vector store: collections of records, each with a vector, searched by nearness and filters.

Two things hold the same records: the ledger, which is written first and answers, and Chroma, which
the contracts prescribe, other programs read, and which follows it. Where they do not agree all the
same, each gets what it lacks from the other: before anything is written, and else soon after a
collection is first read. Reading what the ledger knows does not wait for Chroma, which takes longer
to open than everything else; where a seal says that the two agree, it is not opened before
something is to be written.

Records that are being written are hidden from queries until they are whole, so a search never
shows half a document. Calls block; the pipeline chooses their thread.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from quinion.errors import BadSetting, StoreUnavailable
from quinion.model.record import Hit, Metadata, Record, score_of_distance
from quinion.store.audit import Audit
from quinion.store.chroma import Chroma, Place
from quinion.store.filters import Where, all_of, any_of, matches
from quinion.store.following import Follower
from quinion.store.journal import Trace
from quinion.store.ledger import DATABASE, Ledger
from quinion.store.proof import (
    OF_LEDGER,
    Fault,
    Finding,
    Proof,
    Survey,
    find_faults,
    look_again,
    word,
)
from quinion.store.rows import Vectors
from quinion.store.seal import Seal
from quinion.store.taking import read_through

log = logging.getLogger(__name__)

WIDER = 8
"""How many more are looked at, each time that too few of the nearest match."""
STEP = 1_000
OPENING = "opening-chroma"

T = TypeVar("T")


class VectorStore:
    """Collections of records, each with vectors of one embedding model.

    `fingerprint` names the model of all collections that `declare` does not name; it is asked for
    when it is needed, because the model may have to be tried out first.
    """

    def __init__(self, chroma: Chroma, ledger: Ledger, fingerprint: Callable[[], str]) -> None:
        self._chroma = chroma
        self._ledger = ledger
        self._seal: Seal | None = None
        if chroma.place.folder and not chroma.place.url and ledger.folder:
            self._seal = Seal(ledger.folder, chroma.place.folder)
        self._follower = Follower(ledger, chroma, wait=self._seal is None)
        self._fingerprint = fingerprint
        self._declared: dict[str, str | None] = {}
        self._agreed: set[str] = set()
        self._agreeing = threading.Lock()
        self._settling: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()
        self._hidden: list[Trace] = []

    @property
    def place(self) -> Place:
        """Where Chroma is."""
        return self._chroma.place

    @property
    def ledger(self) -> Ledger:
        """What answers."""
        return self._ledger

    def close(self) -> None:
        """Let go of files and connections."""
        for thread in self._settling.values():
            thread.join()
        self._follower.close()
        # A server has no seal, and is asked nothing any more: it may be gone.
        seal = self._seal if self._chroma.is_open and self._seal and self._is_well() else None
        self._chroma.close()
        if seal:
            seal.set()
        self._ledger.close()

    def declare(self, collection: str, fingerprint: str | None) -> None:
        """Say which model the vectors of this collection come from; None: not known yet.

        Until it is known, what needs no vectors can be done.
        """
        self._declared[collection] = fingerprint

    def upsert(self, collection: str, records: Sequence[Record], vectors: Vectors) -> None:
        """Write records with their vectors, replacing those of the same ids."""
        if not records:
            return
        self._agree(collection)
        self._check_model(collection, to_write=True)
        self._ledger.upsert(collection, records, vectors)
        self._share_mark(collection)
        self._follower.follow(collection)

    def get(
        self, collection: str, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> list[Record]:
        """The records with these ids, or all that match."""
        self._prepare_to_read(collection)
        return self._ledger.get(collection, ids=ids, where=where)

    def get_with_vectors(self, trace: Trace) -> tuple[list[Record], Vectors]:
        """The records that the trace names, and the vector of each."""
        records = self._traced(trace)
        return records, self._ledger.vectors(trace.collection, records)

    def query(
        self, collection: str, vector: Vectors, limit: int, where: Where | None = None
    ) -> list[Hit]:
        """The records nearest to the vector among those that match, best first."""
        self._prepare_to_read(collection)
        self._check_model(collection)
        if self._hides_all(collection):
            return []
        condition = all_of(where, *self._hiding(collection))
        mask = self._ledger.candidates(collection, condition) if condition else None
        most = limit
        while True:
            places, distances = self._ledger.nearest(collection, vector, most, mask)
            records = self._ledger.at(collection, places.tolist())
            hits = [
                Hit(records[place], score_of_distance(distance))
                for place, distance in zip(places.tolist(), distances.tolist(), strict=True)
                if place in records
                and (condition is None or matches(records[place].metadata, condition))
            ]
            if len(hits) >= limit or len(places) < most:
                return hits[:limit]
            most *= WIDER

    def delete(self, trace: Trace) -> None:
        """Remove the records that the trace names; none is fine."""
        if trace.is_whole:
            # Whatever model it was made with, it may be dropped.
            self._follower.drop(trace.collection)
            return
        self.delete_ids(trace.collection, [record.id for record in self._traced(trace)])

    def delete_ids(self, collection: str, ids: Sequence[str]) -> None:
        """Remove the records with these ids."""
        if ids:
            self._agree(collection)
            self._ledger.delete(collection, ids)
            self._follower.follow(collection)

    def count(self, collection: str) -> int:
        """How many records the collection has."""
        self._prepare_to_read(collection)
        return self._ledger.count(collection)

    def count_traced(self, trace: Trace) -> int:
        """How many records the trace names."""
        return self.count(trace.collection) if trace.is_whole else len(self._traced(trace))

    def set_metadata(self, trace: Trace, values: Metadata) -> None:
        """Write these values into the metadata of all records that the trace names."""
        self._agree(trace.collection)
        ids = [record.id for record in self._traced(trace)]
        if ids:
            self._ledger.set_metadata(trace.collection, ids, values)
            self._follower.follow(trace.collection)

    def catch_up(self, collection: str) -> None:
        """Wait until Chroma has all that was written to this collection.

        Raises:
            StoreUnavailable: Chroma does not answer, or its folder is damaged.
        """
        self._follower.catch_up(collection)

    def collections(self) -> list[str]:
        """The names of all collections that the ledger knows."""
        return self._ledger.collections()

    def find_damage(self) -> list[str]:
        """What is amiss with the ledger's database as a whole; none is good news.

        Raises:
            StoreUnavailable: Chroma's folder can't be read.
        """
        if self._ledger.folder is None:
            return []
        if self.place.folder and not self.place.url and not self._chroma.is_open:
            read_through(self.place)  # in a child: it may be damaged so that it ends a process
        with closing(Audit(self._ledger.folder)) as audit:
            return [
                f"{self._ledger.folder / DATABASE}: {line}. Stop the server and run quinion rebuild"
                for line in audit.find_damage()
            ]

    def verify(self, collection: str, *, repair: bool = False) -> Proof:
        """Prove that both copies of every record are there and whole; mend them if asked to.

        Raises:
            StoreUnavailable: Chroma or the ledger can't be read.
        """
        return self.judge(self.survey(collection), repair=repair)

    def survey(self, collection: str) -> Survey:
        """The first look, at everything: it takes a while, and nobody need wait for it."""
        if self._ledger.folder is None:
            return Survey(collection, self.count(collection))
        if settling := self._settling.get(collection):
            settling.join()
        if not self._ledger.fingerprint(collection):
            self._agree(collection)  # of another program, and taken in when it is first used
        self.catch_up(collection)
        with closing(Audit(self._ledger.folder)) as audit:
            findings = find_faults(audit, self._chroma, collection)
            return Survey(collection, audit.count(collection), tuple(findings))

    def judge(self, survey: Survey, *, repair: bool = False) -> Proof:
        """The second look, at what was found; nothing is to begin or to end meanwhile."""
        if not survey.findings or self._ledger.folder is None:
            return Proof(survey.records)
        self.catch_up(survey.collection)
        findings = self._look_again(self._ledger.folder, survey.collection, survey.findings)
        mended: list[Finding] = []
        if repair:
            mended = [finding for finding in findings if finding.can_be_mended]
            self._mend(survey.collection, mended)
            findings = self._look_again(self._ledger.folder, survey.collection, findings)
        return Proof(survey.records, tuple(word(findings)), tuple(word(mended)))

    def _look_again(
        self, folder: Path, collection: str, findings: Sequence[Finding]
    ) -> list[Finding]:
        with self._lock:
            hidden = [trace for trace in self._hidden if trace.collection == collection]
        with closing(Audit(folder)) as audit:
            return list(
                look_again(
                    audit,
                    self._chroma,
                    collection,
                    findings,
                    lambda record: any(trace.names(record) for trace in hidden),
                )
            )

    def _mend(self, collection: str, findings: Sequence[Finding]) -> None:
        """Write the whole copy of each record where there is none."""

        def having(*faults: Fault) -> Iterator[Sequence[str]]:
            return _steps([finding.id for finding in findings if finding.fault in faults])

        for some in having(Fault.DAMAGED, Fault.UNSUMMED):
            self._ledger.mend(collection, *self._chroma.get(collection, some))
        if any(finding.fault in OF_LEDGER for finding in findings):
            self._ledger.renew(collection)
        for some in having(Fault.NOT_IN_LEDGER):
            self._ledger.upsert(collection, *self._chroma.get(collection, some), from_chroma=True)
        for some in having(Fault.NO_VECTOR, Fault.DIFFERENT):
            # Chroma would keep what it has of the metadata besides.
            self._chroma.delete(collection, some)
            self._copy_to_chroma(collection, some)
        for some in having(Fault.NOT_IN_CHROMA):
            self._copy_to_chroma(collection, some)
        self._share_mark(collection)

    def _copy_to_chroma(self, collection: str, ids: Sequence[str]) -> None:
        records = self._ledger.get(collection, ids=ids)
        self._chroma.upsert(collection, records, self._ledger.vectors(collection, records))

    def hide(self, traces: Sequence[Trace]) -> None:
        """Keep what these name out of query results until `reveal`."""
        with self._lock:
            self._hidden = [*self._hidden, *traces]

    def reveal(self, traces: Sequence[Trace]) -> None:
        """Undo `hide`; what is not hidden is left alone."""
        with self._lock:
            self._hidden = [trace for trace in self._hidden if trace not in traces]

    def hides(self, traces: Iterable[Trace]) -> bool:
        """Whether one of these is hidden: somebody is writing it."""
        with self._lock:
            return any(trace in self._hidden for trace in traces)

    def _hides_all(self, collection: str) -> bool:
        with self._lock:
            return any(t.is_whole and t.collection == collection for t in self._hidden)

    def _hiding(self, collection: str) -> list[Where]:
        with self._lock:
            hidden = [trace for trace in self._hidden if trace.collection == collection]
        return [
            any_of(*({field: {"$ne": value}} for field, value in trace.fields))
            for trace in hidden
            if trace.fields
        ]

    def _traced(self, trace: Trace) -> list[Record]:
        if trace.ids:
            return self.get(trace.collection, ids=trace.ids)
        return self.get(
            trace.collection, where=all_of(*({field: value} for field, value in trace.fields))
        )

    def reconcile(self, collection: str) -> None:
        """Give Chroma what only the ledger has, and the other way round.

        The ledger has more where Chroma's folder was lost or damaged, Chroma where another program
        wrote to it.
        """
        with self._marked():
            self.catch_up(collection)
            ours, theirs = self._ledger.ids(collection), self._chroma.ids(collection)
            known, given = set(ours), set(theirs)
            for some in _steps([id_ for id_ in theirs if id_ not in known]):
                self._ledger.upsert(
                    collection, *self._chroma.get(collection, some), from_chroma=True
                )
            for some in _steps([id_ for id_ in ours if id_ not in given]):
                self._copy_to_chroma(collection, some)
            self._share_mark(collection)
        self._agreed.add(collection)

    def _share_mark(self, collection: str) -> None:
        """Have both say which model the vectors come from, if one of them does."""
        ours, theirs = self._ledger.fingerprint(collection), self._chroma.fingerprint(collection)
        if ours and not theirs:
            self._chroma.mark(collection, ours)
        elif theirs != ours:
            self._ledger.mark(collection, theirs)

    def _prepare_to_read(self, collection: str) -> None:
        """See to it that the ledger can answer; what it knows, it can answer at once."""
        if collection in self._agreed:
            return
        if not self._ledger.fingerprint(collection):
            self._agree(collection)
            return
        if self._sealed:
            return
        with self._lock:
            if collection not in self._settling:
                self._settling[collection] = threading.Thread(
                    target=self._settle, args=(collection,), name="settle", daemon=True
                )
                self._settling[collection].start()

    @cached_property
    def _sealed(self) -> bool:
        """Whether Chroma has what the ledger has, and was not opened since that was so."""
        return bool(self._seal and self._seal.is_whole() and not self._ledger.debts.count())

    def _is_well(self) -> bool:
        """Whether Chroma, which is open, has what the ledger has, as far as counting tells."""
        try:
            return not self._ledger.debts.count() and all(
                self._chroma.count(name) == self._ledger.count(name)
                for name in self._ledger.collections()
            )
        except StoreUnavailable:
            return False

    def _settle(self, collection: str) -> None:
        """The same as `_agree`, for nobody who waits for it."""
        try:
            self._agree(collection)
        except StoreUnavailable as error:
            log.warning("%s is read from the ledger alone: %s", collection, error)

    def agree(self, collections: Iterable[str]) -> None:
        """Before these are written: see to it that Chroma and the ledger have as many records.

        Raises:
            StoreUnavailable: Chroma does not answer, or its folder is damaged.
        """
        for collection in collections:
            self._agree(collection)

    def _agree(self, collection: str) -> None:
        if collection in self._agreed:
            return
        with self._agreeing:
            if collection not in self._agreed:  # and so nobody is writing it yet
                with self._marked():
                    self.catch_up(collection)
                    same = self._chroma.count(collection) == self._ledger.count(collection)
                if not same:
                    self.reconcile(collection)
                elif not self._ledger.fingerprint(collection):
                    self._share_mark(collection)
                self._agreed.add(collection)

    @contextmanager
    def _marked(self) -> Iterator[None]:
        """While Chroma first reads a collection, which ends the process if its files are damaged.

        A mark says that it is being done. Who finds the mark of a process that died of it, or for
        another reason, has a child try first.

        Raises:
            StoreUnavailable: the child died as well, or the mark can't be made.
        """
        folder = self._ledger.folder
        if folder is None or self.place.folder is None or self.place.url:
            yield
            return
        mark = folder / OPENING
        if mark.exists() and not self._chroma.is_open:
            read_through(self.place)
        try:
            mark.touch()
            try:
                yield
            finally:
                mark.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailable(
                f"{folder} cannot be written: {error.strerror}. "
                "Check that the disk is not full and that the folder is writable."
            ) from error

    def _check_model(self, collection: str, *, to_write: bool = False) -> None:
        """Make sure that the collection's vectors are of the model that is configured.

        An empty one is given the mark of that model when something is about to be written. One
        that has records and no mark was made by another program with the model that the specs
        prescribe, and is taken as it is. What needs no vectors can be done with any.
        """
        made_with = self._ledger.fingerprint(collection)
        if not made_with and not to_write:
            return
        declared = collection in self._declared
        wanted = self._declared[collection] if declared else self._fingerprint()
        if not made_with and wanted and not self._ledger.count(collection):
            self._chroma.mark(collection, wanted)
        elif made_with and wanted and made_with != wanted:
            raise BadSetting(
                f"The collection {collection} in {self.place} was made with the embedding model "
                f"{made_with}, and the one configured now is {wanted}. "
                "Configure the former, or use another collection or another QUINION_HOME."
            )


def _steps(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), STEP):
        yield items[start : start + STEP]
