"""Chroma follows the ledger: what was written there is written to Chroma a moment later.

Chroma takes ten times as long to write as the ledger, and nobody who asks us waits for it: the
ledger answers. So it gets what is new in large steps, in the background, when nobody has written
for a moment or when it has fallen far behind. What it is owed is noted in the ledger, by the same
transaction that writes the records: a process may die anywhere, and the next one goes on.

A Chroma server is different. Its data may outlive this home, so what is acknowledged is there:
each write waits for it.
"""

import logging
import math
import threading
import time

from quinion.errors import StoreUnavailable
from quinion.store.chroma import Chroma
from quinion.store.debts import Change
from quinion.store.ledger import Ledger

log = logging.getLogger(__name__)

STEP = 1_000
"""Records that Chroma gets at once: it takes fewer no quicker, and is locked meanwhile."""
QUIET_S = 5.0
"""Longer than embedding most documents takes: whoever embeds has the cores to itself."""
FAR_BEHIND = 10_000
"""From here on Chroma gets its share while others write."""
TOO_FAR_BEHIND = 20_000
"""From here on whoever writes waits: Chroma is broken, or it can't keep up."""
AFTER_FAILURE_S = 30.0
CLOSING_S = 10.0
"""How long closing a store goes on giving; it may be twenty thousand records behind."""


class Follower:
    """What keeps one Chroma as its ledger is. `wait`: each write waits for Chroma."""

    def __init__(self, ledger: Ledger, chroma: Chroma, *, wait: bool) -> None:
        self._ledger = ledger
        self._chroma = chroma
        self._wait = wait
        self._paying = threading.Lock()
        self._changed = threading.Condition()
        self._last_write = 0.0
        self._closing = False
        self._deadline = math.inf
        self._thread: threading.Thread | None = None

    def follow(self, collection: str) -> None:
        """Something was written to this collection.

        Raises:
            StoreUnavailable: Chroma failed, and it has to have what was written.
        """
        if self._wait:
            self.catch_up(collection)
            return
        if self._ledger.debts.count() >= TOO_FAR_BEHIND:
            self._pay(collection)
        with self._changed:
            self._last_write = time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="follower", daemon=True)
                self._thread.start()
            self._changed.notify()

    def catch_up(self, collection: str) -> None:
        """Give Chroma all that it lacks of this collection.

        Raises:
            StoreUnavailable: Chroma does not answer, or its folder is damaged.
        """
        while self._pay(collection):
            pass

    def drop(self, collection: str) -> None:
        """Remove the collection from both."""
        with self._paying:
            self._chroma.drop(collection)
            self._ledger.drop(collection)

    def hurry(self) -> None:
        """The store is being closed: what is not given in a moment is given next time."""
        with self._changed:
            self._closing = True
            self._deadline = time.monotonic() + CLOSING_S
            self._changed.notify()

    def check_time(self) -> None:
        """Go on, or not, with what takes several steps.

        Raises:
            StoreUnavailable: closing has taken long enough.
        """
        if time.monotonic() > self._deadline:
            raise StoreUnavailable(f"Closing may take {CLOSING_S:.0f} seconds, and they are over.")

    def close(self) -> None:
        """Wait until all has come to an end; `hurry` has to be said before."""
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        while True:
            try:
                if not self._await_turn():
                    return
                for collection in self._ledger.debts.collections():
                    self._pay(collection)
            except StoreUnavailable as error:
                log.warning("Chroma is behind, and gets what it lacks later: %s", error)
                if self._closing:
                    return
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, AFTER_FAILURE_S)

    def _await_turn(self) -> bool:
        """Wait until Chroma is to get something; no more where all is done and we are closing."""
        while True:
            owed = self._ledger.debts.count()
            with self._changed:
                if self._closing:
                    return owed > 0
                quiet = time.monotonic() - self._last_write
                if owed and (quiet >= QUIET_S or owed >= FAR_BEHIND):
                    return True
                self._changed.wait(QUIET_S - quiet if owed else None)

    def _pay(self, collection: str) -> int:
        """Give Chroma one step of what it lacks; how many were lacking."""
        self.check_time()
        with self._paying:
            with self._ledger.still():
                owed = self._ledger.debts.of(collection, STEP)
                records = self._ledger.get(collection, ids=[one.id for one in owed])
                changes = {one.id: one.change for one in owed}
                known = [one for one in records if changes[one.id] is Change.METADATA]
                new = [one for one in records if changes[one.id] is not Change.METADATA]
                vectors = self._ledger.vectors(collection, new)
            if owed:
                there = {one.id for one in records if changes[one.id] is not Change.LESS}
                self._chroma.delete(collection, [id_ for id_ in changes if id_ not in there])
                self._chroma.set_metadata(collection, known)
                self._chroma.upsert(collection, new, vectors)
                self._ledger.debts.settle(owed)
            return len(owed)
