"""Background builder of the keyword index, for a store whose records are not all in it.

A store has none if an earlier quinion wrote it, or if the analysis has changed. The index is
built from the stored texts, in short transactions; nothing is embedded. Records that are written
meanwhile are indexed by their own transactions. A build that is stopped goes on at the next start.
"""

import logging
import sqlite3
import threading

from quinion.errors import StoreUnavailable
from quinion.runtime_tuning import lower_priority
from quinion.store.embedded.database import Database
from quinion.store.embedded.keywords.keyword_index import change, find_unindexed
from quinion.store.embedded.metadata_index import decoding
from quinion.store.embedded.rows import (
    bump_version,
    find_by_slots,
    list_collections,
)

log = logging.getLogger(__name__)

STEP = 200
"""Records per transaction: a few hundredths of a second, which other writers wait."""


class IndexBuilder:
    """Thread that indexes all records that are not indexed yet, and then ends."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keyword indexer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop after the current step."""
        self._closing.set()
        self._thread.join()

    def join(self) -> None:
        """Wait until all records are indexed."""
        self._thread.join()

    def _run(self) -> None:
        lower_priority()
        try:
            with self._database.read() as database:
                names = list_collections(database)
            for name in names:
                while not self._closing.is_set() and self._index_some(name):
                    pass
        except StoreUnavailable as error:
            log.warning("The keyword index can't be built: %s", error)

    def _index_some(self, name: str) -> bool:
        """Index some records of a collection; return whether there were any."""
        with self._database.write() as database:
            found = bump_version(database, name)
            slots = find_unindexed(database, found.number)[:STEP] if found else ()
            if found is None or not len(slots):
                return False
            rows = find_by_slots(database, found.number, [int(slot) for slot in slots])
            change(database, found.number, added=[(row.slot, row.record) for row in rows])
            return bool(rows)


def is_complete(database: sqlite3.Connection) -> bool:
    """Whether all records of all collections are indexed, as far as this can be read."""
    try:
        with decoding():
            numbers = database.execute("SELECT number FROM collections").fetchall()
            return not any(len(find_unindexed(database, number)) for (number,) in numbers)
    except (StoreUnavailable, sqlite3.Error) as error:
        log.warning("The keyword index can't be read: %s", error)
        return True
