"""Follower: the replicator of a store that several engines share.

Each engine with a mirror has one, and one of them at a time sends the outbox, with a lease. The
others wait, and take over if it stops.
"""

import time

from quinion.store.chroma.client import Location
from quinion.store.chroma.replicator import QUIET_S, MirroredStore, Replicator
from quinion.store.leases import Lease, Leases, covered_by

KEY = "mirror"
CHECK_WAIT_S = 10.0
"""How long a check waits for the one that sends the outbox, maybe in this process."""
POLL_S = 0.1


class Follower(Replicator):
    """Replicator that looks for changes of other engines, too."""

    idle_s = QUIET_S

    def __init__(self, store: MirroredStore, location: Location, leases: Leases) -> None:
        self._leases = leases
        self._lease: Lease | None = None
        super().__init__(store, location)

    def flush(self) -> None:
        lease = self._lease or self._leases.acquire([KEY])
        self._lease = None
        if lease is None:  # another engine sends the outbox
            return
        try:
            with covered_by(lease):
                super().flush()
        finally:
            self._leases.release(lease)

    def check(self, collection: str, *, repair: bool) -> list[str]:
        give_up_at = time.monotonic() + CHECK_WAIT_S
        while (lease := self._leases.acquire([KEY])) is None and time.monotonic() < give_up_at:
            time.sleep(POLL_S)
        if lease is None:
            return ["The Chroma mirror was not checked: another server is just updating it"]
        try:
            with covered_by(lease):
                return super().check(collection, repair=repair)
        finally:
            self._leases.release(lease)

    def _await_work(self) -> bool:
        while super()._await_work():
            self._lease = self._leases.acquire([KEY])
            if self._lease:
                return True
            if self._closing.is_set():
                return False
            self._closing.wait(QUIET_S)
        return False
