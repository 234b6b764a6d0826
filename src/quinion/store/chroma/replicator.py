"""Replicator: keeps a Chroma as a one-way mirror of the store, for other programs.

The store notes in its outbox what a commit changed. A thread sends that to Chroma's process, in
large steps, when nobody has written for a moment or when the mirror has fallen far behind. A write
never waits for it, and no failure of Chroma reaches a caller: it is logged and tried again, and
the outbox keeps what is missing. A folder that is damaged is moved aside and filled again.

Where the database in a folder is as it was when the mirror was last current (`STAMP`), Chroma is
not even started before something is written.

The mirror may hold records that the store does not have, of other programs: they are left alone.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from quinion.errors import StoreUnavailable
from quinion.store.base import Selector
from quinion.store.chroma.client import DATABASE, Copies, Location, pages_of_ids
from quinion.store.chroma.process import ChromaDamaged, open_chroma
from quinion.store.embedded.outbox import STAMP
from quinion.store.embedded.store import EmbeddedStore

log = logging.getLogger(__name__)

STEP = 1_000
"""Records that are sent at once: Chroma takes fewer no quicker, and is locked meanwhile."""
QUIET_S = 5.0
"""Longer than embedding most documents takes: what embeds has the cores to itself."""
FAR_BEHIND = 10_000
"""From so many entries on they are sent while others write."""
RETRY_AFTER_S = 30.0
CLOSE_S = 30.0
"""How long closing a store goes on sending."""
NOT_FILLED = (
    "The Chroma mirror has not been filled yet: that is done in the background, or now by quinion "
    "verify --repair"
)
QUARANTINE = "damaged-"
GRAPH = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The names of folders that Chroma makes."""

T = TypeVar("T")


class Replicator:
    """Mirrors a store into a Chroma, from its construction on; implements
    `embedded.store.Mirror`."""

    def __init__(self, store: EmbeddedStore, location: Location) -> None:
        self._store = store
        self._location = location
        self._chroma = open_chroma(location)
        self._chroma_lock = threading.Lock()
        self._last_write = time.monotonic()
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._failure = ""
        stamp = store.values(STAMP).get(STAMP)
        self._compared = bool(stamp and stamp == self._read_stamp())
        self._thread = threading.Thread(target=self._run, name="replicator", daemon=True)
        self._thread.start()

    def notify(self) -> None:
        """Something was committed."""
        self._last_write = time.monotonic()
        self._woken.set()

    def close(self) -> None:
        """Send what is left, for a while, and end Chroma's process."""
        self._closing.set()
        self._woken.set()
        self._thread.join(CLOSE_S)
        if self._thread.is_alive():
            log.warning("Shutdown timed out; replication resumes at the next start")
        self._chroma.close()
        self._thread.join()

    def flush(self) -> None:
        """Send all that the mirror lacks, now.

        Raises:
            StoreUnavailable: Chroma failed.
        """
        self._use(self._catch_up)

    def fetch(self, collection: str, ids: Sequence[str]) -> Copies:
        """The mirror's copies of these records, as far as it has them."""
        try:
            with self._chroma_lock:
                return self._chroma.fetch(collection, ids)
        except StoreUnavailable as error:
            log.warning("The mirror can't be read: %s", error)
            return {}

    def check(self, collection: str, *, repair: bool) -> list[str]:
        """Differences between the mirror and the store; with `repair`, they are sent again."""
        try:
            return self._use(lambda: list(self._check(collection, repair=repair)))
        except StoreUnavailable as error:
            return [f"The Chroma mirror is not current and is updated later: {error}"]

    def _run(self) -> None:
        while True:
            try:
                if not self._await_work():
                    return
                self.flush()
                self._failure = ""
            except Exception as error:  # without this thread there is no mirror
                self._compared = False
                if str(error) != self._failure:  # once, not every half minute
                    self._failure = str(error)
                    log.warning("The Chroma mirror is behind and is updated later: %s", error)
                if self._closing.is_set():
                    return
                self._closing.wait(RETRY_AFTER_S)

    def _await_work(self) -> bool:
        """Wait until something is to be sent; false when all was sent and we are closing."""
        while True:
            self._woken.clear()  # before it is looked, so that no write is missed
            is_closing = self._closing.is_set()
            entries = sum(self._store.outbox.count().values())
            wanted = entries > 0 or not self._compared
            if is_closing:
                # A server is compared with when there is time: it may not answer.
                return entries > 0 or (wanted and isinstance(self._location, Path))
            quiet_s = time.monotonic() - self._last_write
            if wanted and (quiet_s >= QUIET_S or entries >= FAR_BEHIND):
                return True
            self._woken.wait(QUIET_S - quiet_s if wanted else None)

    def _use(self, work: Callable[[], T]) -> T:
        """Use Chroma; where its folder turns out to be damaged, move it aside and try again."""
        with self._chroma_lock:
            try:
                return work()
            except ChromaDamaged as error:
                aside = quarantine(Path(self._location))
                log.warning("%s. Its files were moved to %s; the mirror is rebuilt.", error, aside)
                self._compared = False
                self._woken.set()
                return work()

    def _catch_up(self) -> None:
        """Send the outbox; at first also what the mirror lacks for another reason."""
        names = self._store.outbox.count().keys()
        # A missing collection is new; or Chroma was emptied, by a restart of its server.
        self._compared = self._compared and names <= self._chroma.collections().keys()
        for name in names:
            self._send(name)
        if not self._compared:
            for name in self._store.collections():
                self._add_missing(name)
                self._send(name)
        self._compared = True
        # Now: who changes the file later makes the next start compare.
        with self._store.transaction() as transaction:
            transaction.set_value(STAMP, self._read_stamp())

    def _send(self, collection: str) -> None:
        """Send all entries of a collection."""
        outbox = self._store.outbox
        while entries := outbox.read(collection, STEP):
            if dropped := entries.pop("", None):
                self._chroma.drop(collection)
                outbox.remove([dropped])
            selected = Selector.by_ids(collection, [*entries])
            records, vectors = self._store.get_with_vectors(selected)
            deleted = [*(entries.keys() - {record.id for record in records})]
            if entries:
                model = self._store.model(collection)
                self._chroma.apply(collection, model, deleted, records, vectors)
                outbox.remove(entries.values())

    def _add_missing(self, collection: str) -> None:
        """Put into the outbox what the mirror lacks, as far as counting and ids tell."""
        count = self._store.count(Selector.everything(collection))
        if self._chroma.count(collection) != count:
            theirs = self._list_ids(collection)
            missing = [id_ for id_ in self._store.list_ids(collection) if id_ not in theirs]
            for some in _steps(missing):
                self._store.outbox.add(collection, some)

    def _check(self, collection: str, *, repair: bool) -> Iterator[str]:
        self._send(collection)
        different = self._find_different(collection)
        if different and repair:
            self._store.outbox.add(collection, different)
            self._send(collection)
            different = self._find_different(collection)
        theirs = self._list_ids(collection)
        if different and not theirs:
            yield NOT_FILLED
        elif different:
            yield (
                f"{collection}: the Chroma mirror lacks {len(different):,} records or has other "
                f"versions of them, {different[0]} for one. quinion verify --repair sends them"
            )
        if extra := theirs.difference(self._store.list_ids(collection)):
            yield (
                f"{collection}: Chroma has {len(extra):,} records that the store does not have; "
                "quinion import chroma takes them over"
            )

    def _find_different(self, collection: str) -> list[str]:
        """The ids of records that the mirror lacks or has otherwise, and that are not about to
        be sent."""
        found: list[str] = []
        for some in _steps(self._store.list_ids(collection)):
            records, vectors = self._store.get_with_vectors(Selector.by_ids(collection, some))
            theirs = self._chroma.fetch(collection, some)
            for record, vector in zip(records, vectors, strict=True):
                copy = theirs.get(record.id)
                if copy is None or copy[0] != record or not np.array_equal(copy[1], vector):
                    found.append(record.id)
        pending = self._store.outbox.read(collection)
        return [id_ for id_ in found if id_ not in pending]

    def _list_ids(self, collection: str) -> set[str]:
        return {id_ for page in pages_of_ids(self._chroma, collection) for id_ in page}

    def _read_stamp(self) -> str:
        """The size and time of the database in the folder; empty for a server, or without one."""
        try:
            state = (Path(self._location) / DATABASE).stat()
        except OSError:
            return ""
        return f"{state.st_size} {state.st_mtime_ns}"


def quarantine(folder: Path) -> Path:
    """Move the files of a Chroma folder into a folder inside it; a file in the folder's place is
    renamed.

    Raises:
        StoreUnavailable: something can't be moved.
    """
    name = f"{QUARANTINE}{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        if not folder.is_dir():
            return folder.rename(folder.with_name(f"{folder.name}.{name}"))
        aside = folder / name
        aside.mkdir(mode=0o700, exist_ok=True)
        for one in find_files(folder):
            one.rename(aside / one.name)
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be moved aside: {error}") from error
    return aside


def find_files(folder: Path) -> list[Path]:
    """The files of Chroma in a folder: its database, and the folders of its graphs. What else is
    there may be anybody's."""
    found = folder.iterdir() if folder.is_dir() else ()
    return [one for one in found if one.name.startswith(DATABASE) or GRAPH.fullmatch(one.name)]


def _steps(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), STEP):
        yield items[start : start + STEP]
