"""Replicator that maintains a Chroma as a one-way mirror of the store, for other programs.

Each commit adds its changes to the store's outbox. A thread sends them to Chroma's process in
large batches, when no write has happened for a moment or when the mirror is far behind. Writes
never wait for replication, and no failure of Chroma reaches a caller: it is logged and retried,
and the outbox keeps the unsent changes. A damaged folder is moved aside and filled again.

If the database in a folder is unchanged since the mirror was last current (`STAMP`), Chroma is
not started before the next write.

The mirror may contain records of other programs. The replicator does not touch them.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from quinion.errors import LeaseLost, StoreUnavailable
from quinion.store.base import Selector, VectorStore
from quinion.store.checksum import sum_record
from quinion.store.chroma.client import DATABASE, Copy, Location, pages
from quinion.store.chroma.process import ChromaDamaged, open_chroma
from quinion.store.embedded.outbox import STAMP

log = logging.getLogger(__name__)

STEP = 1_000
"""Records per batch: smaller batches are no faster, and Chroma is locked during each."""
QUIET_S = 5.0
"""Time without writes before replication starts. It is longer than embedding most documents
takes, so replication does not compete with embedding for the cores."""
FAR_BEHIND = 10_000
"""Number of outbox entries from which on they are sent even during writes."""
RETRY_AFTER_S = 30.0
CLOSE_S = 30.0
"""Timeout for sending the rest of the outbox when a store is closed."""
NOT_FILLED = (
    "The Chroma mirror has not been filled yet. It is filled in the background; to fill it now, "
    "run quinion verify --repair"
)
QUARANTINE = "damaged-"
GRAPH = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Names of the folders of Chroma's graphs."""

T = TypeVar("T")


class Outbox(Protocol):
    """Entries of changed records; implemented by the adapters of the store."""

    def add(self, collection: str, ids: Sequence[str]) -> None: ...

    def count(self) -> dict[str, int]: ...

    def read(self, collection: str, limit: int = -1) -> dict[str, int]: ...

    def remove(self, numbers: Iterable[int]) -> None: ...


class MirroredStore(VectorStore, Protocol):
    """Store with an outbox."""

    @property
    def outbox(self) -> Outbox: ...

    def list_checksums(self, collection: str) -> dict[str, int]:
        """List the checksums of all records by id, in insertion order."""
        ...


class Replicator:
    """Thread that replicates a store to a Chroma; implements `embedded.store.Mirror`."""

    idle_s: float | None = None
    """How often the outbox is read without a notification."""

    def __init__(self, store: MirroredStore, location: Location) -> None:
        self._store = store
        self._location = location
        self._chroma = open_chroma(location)
        self._chroma_lock = threading.Lock()
        self._last_write = self._behind_since = time.monotonic()
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._failure = ""
        self._is_behind = bool(store.outbox.count())
        stamp = store.values(STAMP).get(STAMP)
        self._compared = bool(stamp and stamp == self._read_stamp())
        self._thread = threading.Thread(target=self._run, name="replicator", daemon=True)
        self._thread.start()

    def notify(self) -> None:
        """Called after each commit."""
        now = time.monotonic()
        if not self._is_behind:
            self._is_behind, self._behind_since = True, now
        self._last_write = now
        self._woken.set()

    def lag_s(self) -> float:
        """Seconds since the first commit that the mirror lacks; zero if it has all."""
        return time.monotonic() - self._behind_since if self._is_behind else 0.0

    def close(self) -> None:
        """Send the rest of the outbox, with a timeout, and stop Chroma's process."""
        self._closing.set()
        self._woken.set()
        self._thread.join(CLOSE_S)
        if self._thread.is_alive():
            log.warning("Shutdown timed out; replication resumes at the next start")
        self._chroma.close()
        self._thread.join()

    def flush(self) -> None:
        """Bring the mirror up to date now.

        Raises:
            StoreUnavailable: Chroma failed.
        """
        self._use(self._catch_up)

    def fetch(self, collection: str, ids: Sequence[str]) -> dict[str, Copy]:
        """Fetch the mirror's copies of these records, as far as they exist."""
        try:
            with self._chroma_lock:
                return self._chroma.fetch(collection, ids)
        except StoreUnavailable as error:
            log.warning("The mirror can't be read: %s", error)
            return {}

    def check(self, collection: str, *, repair: bool) -> list[str]:
        """Find differences between the mirror and the store; `repair` sends the records again."""
        try:
            return self._use(lambda: list(self._check(collection, repair=repair)))
        except StoreUnavailable as error:
            return [f"The Chroma mirror is not current and is updated later: {error}"]

    def _run(self) -> None:
        while True:
            try:
                if not self._await_work():
                    return
                self._is_behind = False  # before the outbox is read, so that no commit is missed
                self.flush()
                self._failure = ""
            except Exception as error:  # without this thread, replication would stop
                self._is_behind = True
                self._compared = False
                if str(error) != self._failure:  # log it once, not at every retry
                    self._failure = str(error)
                    log.warning("The Chroma mirror is behind and is updated later: %s", error)
                if self._closing.is_set():
                    return
                self._closing.wait(RETRY_AFTER_S)

    def _await_work(self) -> bool:
        """Wait for work; return false when everything is sent and the store is being closed."""
        while True:
            self._woken.clear()  # before the checks, so that no write is missed
            is_closing = self._closing.is_set()
            entries = sum(self._store.outbox.count().values())
            wanted = entries > 0 or not self._compared
            if is_closing:
                # A server is not compared during shutdown: it may not answer.
                return entries > 0 or (wanted and isinstance(self._location, Path))
            quiet_s = time.monotonic() - self._last_write
            if wanted and (quiet_s >= QUIET_S or entries >= FAR_BEHIND):
                return True
            self._woken.wait(QUIET_S - quiet_s if wanted else self.idle_s)

    def _use(self, work: Callable[[], T]) -> T:
        """Run `work` on Chroma; if its folder is damaged, move it aside and retry."""
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
        """Send the outbox; the first time, also records that are missing for other reasons."""
        names = self._store.outbox.count().keys()
        # A missing collection is new, or Chroma was emptied by a restart of its server.
        self._compared = self._compared and names <= self._chroma.collections().keys()
        for name in names:
            self._send(name)
        if not self._compared:
            for name in self._store.collections():
                self._add_missing(name)
                self._send(name)
        self._compared = True
        # The stamp is read now: if the file changes later, the next start compares.
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
                try:
                    outbox.remove(entries.values())
                except LeaseLost:  # newer versions, sent by another engine, may be overwritten now
                    outbox.add(collection, [*entries])
                    raise

    def _add_missing(self, collection: str) -> None:
        """Add records that the mirror lacks to the outbox, if it has another number of them."""
        count = self._store.count(Selector.everything(collection))
        if self._chroma.count(collection) != count:
            different, _ = self._compare(collection)
            self._store.outbox.add(collection, different)

    def _check(self, collection: str, *, repair: bool) -> Iterator[str]:
        self._send(collection)
        different, extra = self._compare(collection)
        if different and repair:
            self._store.outbox.add(collection, different)
            self._send(collection)
            different, extra = self._compare(collection)
        if different and not self._chroma.count(collection):
            yield NOT_FILLED
        elif different:
            yield (
                f"{collection}: the Chroma mirror lacks {len(different):,} records or has other "
                f"versions of them, {different[0]} for one. quinion verify --repair sends them"
            )
        if extra:
            yield (
                f"{collection}: Chroma has {len(extra):,} records that the store does not have; "
                "quinion import chroma imports them"
            )

    def _compare(self, collection: str) -> tuple[list[str], set[str]]:
        """Compare the mirror with the store by checksums, except for records in the outbox.

        Return the ids of records that are missing or different in the mirror, and of those that
        only the mirror has.
        """
        theirs = {
            id_: copy and sum_record(*copy)
            for page in pages(self._chroma, collection)
            for id_, copy in page.items()
        }
        ours = self._store.list_checksums(collection)
        pending = self._store.outbox.read(collection)
        different = [id_ for id_ in ours if theirs.get(id_) != ours[id_] and id_ not in pending]
        return different, theirs.keys() - ours.keys() - pending.keys()

    def _read_stamp(self) -> str:
        """Size and modification time of the database in the folder; empty if there is none."""
        try:
            state = (Path(self._location) / DATABASE).stat()
        except OSError:
            return ""
        return f"{state.st_size} {state.st_mtime_ns}"


def quarantine(folder: Path) -> Path:
    """Move the files of a Chroma folder into a subfolder; a file instead of a folder is renamed.

    Raises:
        StoreUnavailable: a file can't be moved.
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
    """Find Chroma's files in a folder: its database and the folders of its graphs.

    Other files may belong to other programs.
    """
    found = folder.iterdir() if folder.is_dir() else ()
    return [one for one in found if one.name.startswith(DATABASE) or GRAPH.fullmatch(one.name)]
