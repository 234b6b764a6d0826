"""The ledger and Chroma have the same records, and this sees to it that they do.

The ledger has more where Chroma's folder was lost or damaged, Chroma where another program wrote to
it: each gets from the other what it lacks. That is done before anything is written to a collection,
and else soon after it is first read. Reading what the ledger knows does not wait for Chroma, which
takes longer to open than everything else; where a seal says that the two agree, it is not opened
before something is to be written.
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from quinion.errors import StoreUnavailable
from quinion.store.chroma import Chroma, find_damage
from quinion.store.following import Follower
from quinion.store.ledger import Ledger
from quinion.store.seal import Seal

log = logging.getLogger(__name__)

STEP = 1_000

T = TypeVar("T")


class Agreement:
    """That of one ledger and its Chroma."""

    def __init__(self, ledger: Ledger, chroma: Chroma) -> None:
        self._ledger = ledger
        self._chroma = chroma
        self._seal: Seal | None = None
        if chroma.place.folder and not chroma.place.url and ledger.folder:
            self._seal = Seal(ledger.folder, chroma.place.folder)
        self.follower = Follower(ledger, chroma, wait=self._seal is None)
        self._agreed: set[str] = set()
        self._agreeing = threading.Lock()
        self._settling: dict[str, threading.Thread] = {}
        self._starting = threading.Lock()

    def close(self) -> None:
        """Bring to an end what is under way, let go of Chroma, and seal it if all is well."""
        self.follower.hurry()
        for thread in self._settling.values():
            thread.join()
        self.follower.close()
        # A server has no seal, and is asked nothing any more: it may be gone.
        seal = self._seal if self._chroma.is_open and self._seal and self._is_well() else None
        self._chroma.close()
        if seal:
            seal.set()

    def prepare_to_read(self, collection: str) -> None:
        """See to it that the ledger can answer; what it knows, it can answer at once."""
        if collection in self._agreed:
            return
        if not self._ledger.fingerprint(collection):
            self.prepare_to_write(collection)
            return
        if self._sealed:
            return
        with self._starting:
            if collection not in self._settling:
                self._settling[collection] = threading.Thread(
                    target=self._settle, args=(collection,), name="settle", daemon=True
                )
                self._settling[collection].start()

    def prepare_to_write(self, collection: str) -> None:
        """See to it that Chroma and the ledger have as many records.

        Raises:
            StoreUnavailable: Chroma does not answer, or its folder is damaged.
        """
        if collection in self._agreed:
            return
        with self._agreeing:
            if collection not in self._agreed:  # and so nobody is writing it yet
                self.follower.catch_up(collection)
                if not self._ledger.collections():
                    self._check_chroma()  # which may not show a whole collection
                if self._chroma.count(collection) != self._ledger.count(collection):
                    self.reconcile(collection)
                elif not self._ledger.fingerprint(collection):
                    self.share_mark(collection)
                self._agreed.add(collection)

    def prepare_to_prove(self, collection: str) -> None:
        """See to it that nothing is under way, and that Chroma has all that was written.

        Raises:
            StoreUnavailable: Chroma does not answer, or its folder is damaged.
        """
        if settling := self._settling.get(collection):
            settling.join()
        if not self._ledger.fingerprint(collection):
            # Of another program, and taken in when it is first used.
            self.prepare_to_write(collection)
        self.follower.catch_up(collection)

    def reconcile(self, collection: str) -> None:
        """Give Chroma what only the ledger has, and the other way round.

        An empty one gets all in the order in which it came, before what it is owed: whoever makes
        the ledger anew from it has the same answers then, also where they are approximate.
        """
        if not self._chroma.count(collection):
            self.copy_to_chroma(collection, self._ledger.ids(collection))
        self.follower.catch_up(collection)
        ours, theirs = self._ledger.ids(collection), self._chroma.ids(collection)
        known, given = set(ours), set(theirs)
        if unknown := [id_ for id_ in theirs if id_ not in known]:
            self._check_chroma()
            self.take_from_chroma(collection, unknown)
        self.copy_to_chroma(collection, [id_ for id_ in ours if id_ not in given])
        self.share_mark(collection)
        self._agreed.add(collection)

    def take_from_chroma(self, collection: str, ids: Sequence[str]) -> None:
        """Give the ledger these records, which it lacks."""
        for some in steps(ids):
            self.follower.check_time()
            self._ledger.upsert(collection, *self._chroma.get(collection, some), from_chroma=True)

    def copy_to_chroma(self, collection: str, ids: Sequence[str]) -> None:
        """Give Chroma these records, which it lacks."""
        for some in steps(ids):
            self.follower.check_time()
            records = self._ledger.get(collection, ids=some)
            self._chroma.upsert(collection, records, self._ledger.vectors(collection, records))

    def share_mark(self, collection: str) -> None:
        """Have both say which model the vectors come from, if one of them does."""
        ours, theirs = self._ledger.fingerprint(collection), self._chroma.fingerprint(collection)
        if ours and not theirs:
            self._chroma.mark(collection, ours)
        elif theirs != ours:
            self._ledger.mark(collection, theirs)

    def _check_chroma(self) -> None:
        """Before it is relied on for what the ledger does not have: a damaged database does not
        show all that was in it, and says nothing."""
        if damage := find_damage(self._chroma.place):
            raise StoreUnavailable(
                f"The vector store at {self._chroma.place} is damaged ({damage}), and the ledger "
                "does not have all of it. Stop the server and run quinion rebuild, which saves "
                "what can be read."
            )

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
        """Prepare it to be written, for nobody who waits for that."""
        try:
            self.prepare_to_write(collection)
        except StoreUnavailable as error:
            log.warning("%s is read from the ledger alone: %s", collection, error)


def steps(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """So many at once as both take well."""
    for start in range(0, len(items), STEP):
        yield items[start : start + STEP]
