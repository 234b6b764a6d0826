"""Replicator: keeps a Chroma as a one-way mirror of the store, for other programs.

The store notes in its outbox what a commit changed. A thread sends that to Chroma's process, in
large steps, when nobody has written for a moment or when the mirror has fallen far behind. A write
never waits for it, and no failure of Chroma reaches a caller: it is logged and tried again, and
the outbox keeps what is missing. A folder that is damaged is moved aside and filled again.

Where the files of a folder are as they were when the store was last closed with an empty outbox
(`_Stamp`), Chroma is not even started before something is written.

The mirror may hold records that the store does not have, of other programs: they are left alone.
"""

import json
import logging
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numpy as np

from quinion.errors import StoreUnavailable
from quinion.store.base import Selector
from quinion.store.chroma.client import DATABASE, Copies, Location
from quinion.store.chroma.importer import pages_of_ids
from quinion.store.chroma.process import ChromaDamaged, open_chroma
from quinion.store.embedded.outbox import STAMP, Change
from quinion.store.embedded.store import EmbeddedStore

log = logging.getLogger(__name__)

STEP = 1_000
"""Records that are sent at once: Chroma takes fewer no quicker, and is locked meanwhile."""
QUIET_S = 5.0
"""Longer than embedding most documents takes: what embeds has the cores to itself."""
FAR_BEHIND = 10_000
"""From so many entries on they are sent while others write."""
AFTER_FAILURE_S = 30.0
CLOSE_S = 30.0
"""How long closing a store goes on sending."""
EMPTY = (
    "The Chroma mirror has not been filled yet: that is done in the background, or now by quinion "
    "verify --repair"
)
QUARANTINE = "damaged-"
GRAPH = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The names of folders that Chroma makes."""

T = TypeVar("T")


class Replicator:
    """Mirrors a store into a Chroma; implements `embedded.store.Mirror`."""

    def __init__(self, store: EmbeddedStore, location: Location) -> None:
        self._store = store
        self._location = location
        self._chroma = open_chroma(location, lambda: self._deadline)
        self._sending = threading.RLock()
        self._changed = threading.Condition()
        self._last_write = time.monotonic()
        self._compared = False
        self._seen = ""
        self._closing = False
        self._deadline = math.inf
        self._thread: threading.Thread | None = None
        self._failure = ""

    def start(self) -> None:
        """Begin to catch up in the background, unless the mirror is known to be current."""
        if self._is_stamped() and not self._store.list_outbox()[0]:
            self._compared = True
        else:
            self.notify()

    def notify(self) -> None:
        """Something was committed."""
        with self._changed:
            self._last_write = time.monotonic()
            if self._thread is None and not self._closing:
                self._thread = threading.Thread(target=self._run, name="replicator", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Send what is left, for a while, and end Chroma's process."""
        with self._changed:
            self._closing = True
            self._deadline = time.monotonic() + CLOSE_S
            self._changed.notify()
        if self._thread:
            self._thread.join()
        self._chroma.close()
        with suppress(StoreUnavailable):
            if self._seen and not self._store.list_outbox()[0]:
                with self._store.transaction() as transaction:
                    transaction.set_value(STAMP, self._seen)

    def flush(self) -> None:
        """Send all that the mirror lacks, now.

        Raises:
            StoreUnavailable: Chroma failed.
        """
        with self._sending:
            self._call(self._catch_up)

    def fetch(self, collection: str, ids: Sequence[str]) -> Copies:
        """The mirror's copies of these records, as far as it has them."""
        try:
            with self._sending:
                return self._chroma.fetch(collection, ids)[0]
        except StoreUnavailable as error:
            log.warning("The mirror can't be read: %s", error)
            return {}

    def check(self, collection: str, *, repair: bool) -> list[str]:
        """Differences between the mirror and the store; with `repair`, they are sent again."""
        try:
            with self._sending:
                self._call(lambda: self._send(collection))
                different = self._call(lambda: list(self._find_different(collection)))
                if different and repair:
                    self._store.add_to_outbox(collection, different)
                    self._call(lambda: self._send(collection))
                    different = self._call(lambda: list(self._find_different(collection)))
                extra = self._call(lambda: sum(1 for _ in self._find_extra(collection)))
                count = self._call(lambda: self._chroma.count(collection))
        except StoreUnavailable as error:
            return [f"The Chroma mirror is not current and is updated later: {error}"]
        warnings = []
        if different and not count:
            warnings.append(EMPTY)
        elif different:
            warnings.append(
                f"{collection}: the Chroma mirror lacks {len(different):,} records or has other "
                f"versions of them, {different[0]} for one. quinion verify --repair sends them"
            )
        if extra:
            warnings.append(
                f"{collection}: Chroma has {extra:,} records that the store does not have; "
                "quinion import chroma takes them over"
            )
        return warnings

    def _run(self) -> None:
        while True:
            try:
                if not self._await_work():
                    return
                with self._sending:
                    self._call(self._catch_up)
                    # Now: who changes a file later makes the next start compare.
                    self._seen = self._look_at()
                self._failure = ""
            except Exception as error:  # without this thread there is no mirror
                self._compared = False
                if str(error) != self._failure:  # once, not every half minute
                    self._failure = str(error)
                    log.warning("The Chroma mirror is behind and is updated later: %s", error)
                with self._changed:
                    if self._closing:
                        return
                    self._changed.wait_for(lambda: self._closing, AFTER_FAILURE_S)

    def _await_work(self) -> bool:
        """Wait until something is to be sent; false when all was sent and we are closing."""
        while True:
            last_write = self._last_write
            entries, _ = self._store.list_outbox()
            with self._changed:
                if self._last_write != last_write:  # and so the entries may be more
                    continue
                wanted = entries > 0 or not self._compared
                if self._closing:
                    # A server is compared with when there is time: it may not answer.
                    now = entries > 0 or (wanted and isinstance(self._location, Path))
                    return now and time.monotonic() < self._deadline
                quiet = time.monotonic() - self._last_write
                if wanted and (quiet >= QUIET_S or entries >= FAR_BEHIND):
                    return True
                self._changed.wait(QUIET_S - quiet if wanted else None)

    def _call(self, work: Callable[[], T]) -> T:
        """Use Chroma; where its folder turns out to be damaged, move it aside and try again."""
        try:
            return work()
        except ChromaDamaged as error:
            if time.monotonic() > self._deadline:
                raise
            self._chroma.close()
            assert isinstance(self._location, Path)
            aside = quarantine(self._location)
            log.warning("%s. Its files were moved to %s; the mirror is rebuilt.", error, aside)
            for name in self._store.collections():
                self._compare(name)
            return work()

    def _catch_up(self) -> None:
        """Send the outbox; at first also what the mirror lacks for another reason."""
        _, names = self._store.list_outbox()
        for name in names:
            self._send(name)
        if not self._compared:
            for name in self._store.collections():
                self._compare(name)
                self._send(name)
            self._compared = True

    def _compare(self, collection: str) -> None:
        """Put into the outbox what the mirror lacks, as far as counting and ids tell."""
        there = self._chroma.count(collection)
        if there == self._store.count(Selector.everything(collection)):
            return
        known = {id_ for page in pages_of_ids(self._chroma, collection) for id_ in page}
        missing = [id_ for id_ in self._store.list_ids(collection) if id_ not in known]
        for some in _steps(missing):
            self._store.add_to_outbox(collection, some)

    def _send(self, collection: str) -> None:
        """Send all entries of a collection."""
        while True:
            if time.monotonic() > self._deadline:
                raise StoreUnavailable(
                    f"shutdown timed out after {CLOSE_S:.0f} s; replication resumes at the next "
                    "start"
                )
            entries, records, vectors = self._store.read_outbox(collection, STEP)
            if not entries:
                return
            if entries[0].change is Change.DROP:
                self._chroma.drop(collection)
                self._store.remove_from_outbox(entries[:1])
                continue
            changes = {entry.id: entry.change for entry in entries}
            # Metadata is merged into what Chroma has, so a removed key needs a new record.
            kept = {one.id for one in records if changes[one.id] is not Change.KEYS_REMOVED}
            known = [one for one in records if changes[one.id] is Change.METADATA]
            new = [n for n, one in enumerate(records) if changes[one.id] is not Change.METADATA]
            created = self._chroma.apply(
                collection,
                self._store.model(collection),
                [id_ for id_ in changes if id_ not in kept],
                known,
                [records[n] for n in new],
                vectors[new] if new else vectors[:0],
            )
            self._store.remove_from_outbox(entries)
            if created:  # it is new; or Chroma was emptied, by a restart of its server
                self._compared = False

    def _find_different(self, collection: str) -> Iterator[str]:
        """The ids of records that the mirror lacks or has otherwise, and that are not about to
        be sent."""
        pending = {entry.id for entry in self._store.read_outbox(collection, FAR_BEHIND)[0]}
        for some in _steps(self._store.list_ids(collection)):
            records, vectors = self._store.get_with_vectors(Selector.by_ids(collection, some))
            there, _ = self._chroma.fetch(collection, [record.id for record in records])
            for record, vector in zip(records, vectors, strict=True):
                if record.id in pending:
                    continue
                copy = there.get(record.id)
                if copy is None or copy[0] != record or not np.array_equal(copy[1], vector):
                    yield record.id

    def _find_extra(self, collection: str) -> Iterator[str]:
        """The ids of records that only the mirror has."""
        ours = set(self._store.list_ids(collection))
        for page in pages_of_ids(self._chroma, collection):
            yield from (id_ for id_ in page if id_ not in ours)

    def _is_stamped(self) -> bool:
        stamp = self._store.values(STAMP).get(STAMP)
        return bool(stamp and stamp == self._look_at())

    def _look_at(self) -> str:
        """Names, sizes and times of Chroma's files, as they are now; empty for a server, and
        where there are none or they can't be listed."""
        if not isinstance(self._location, Path):
            return ""
        try:
            found = find_files(self._location)
            files = [path for one in found for path in (one, *sorted(one.rglob("*")))]
            states = [(path.name, path.stat()) for path in files if path.is_file()]
        except OSError:
            return ""
        seen = [[name, state.st_size, state.st_mtime_ns] for name, state in states]
        return json.dumps(seen) if seen else ""


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
        content = find_files(folder)
        aside.mkdir(mode=0o700, exist_ok=True)
        for one in content:
            one.rename(aside / one.name)
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be moved aside: {error}") from error
    return aside


def find_files(folder: Path) -> list[Path]:
    """The files of Chroma in a folder: its database, and the folders of its graphs. What else is
    there may be anybody's."""
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(
        one for one in found if one.name.startswith(DATABASE) or GRAPH.fullmatch(one.name)
    )


def _steps(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), STEP):
        yield items[start : start + STEP]
