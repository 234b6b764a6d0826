"""Cache of postings: the words of queries recur, and reading the frequent ones takes most time.

Each entry is of one version of a collection, so a reader never sees the postings of another
snapshot. A write to a collection makes its entries useless; they are replaced or evicted.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

from quinion.store.keywords.postings import Postings

MAX_BYTES = 64 << 20
"""Size of the cache: at a million records, the postings of several hundred words."""
ENTRY_BYTES = 512
"""Estimate of what an entry takes besides its postings and the numbers of its blocks."""
BLOCK_BYTES = 80

Read = Callable[[list[str]], Mapping[str, Postings]]


class PostingsCache:
    """LRU cache of the postings of all collections, by term; thread-safe."""

    def __init__(self) -> None:
        self._max_bytes = MAX_BYTES
        self._bytes = 0
        self._entries: OrderedDict[tuple[int, str], tuple[int, Postings]] = OrderedDict()
        self._lock = threading.Lock()

    def read(
        self, collection: int, version: int, terms: Iterable[str], read: Read
    ) -> dict[str, Postings]:
        """The postings of these terms in a version of a collection; `read` reads the rest."""
        wanted = list(terms)
        found: dict[str, Postings] = {}
        with self._lock:
            for term in wanted:
                known = self._entries.get((collection, term))
                if known and known[0] == version:
                    self._entries.move_to_end((collection, term))
                    found[term] = known[1]
        if missing := [term for term in wanted if term not in found]:
            new = read(missing)
            found.update(new)
            with self._lock:
                for term, postings in new.items():
                    self._add((collection, term), version, postings)
        return found

    def drop(self, collection: int) -> None:
        """Forget a collection."""
        with self._lock:
            for key in [key for key in self._entries if key[0] == collection]:
                self._remove(key)

    def _add(self, key: tuple[int, str], version: int, postings: Postings) -> None:
        if key in self._entries:
            if self._entries[key][0] > version:  # this reader has an older snapshot
                return
            self._remove(key)
        self._entries[key] = version, postings
        self._bytes += _measure(postings)
        while self._bytes > self._max_bytes:
            self._remove(next(iter(self._entries)))

    def _remove(self, key: tuple[int, str]) -> None:
        self._bytes -= _measure(self._entries.pop(key)[1])


def _measure(postings: Postings) -> int:
    return postings.stored.nbytes + BLOCK_BYTES * len(postings.blocks) + ENTRY_BYTES
