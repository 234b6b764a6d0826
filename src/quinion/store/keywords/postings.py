"""Postings of a keyword index: for each term, the records that contain it, and how often.

A record has a slot, which is a small number. Postings are blobs in blocks of slots, so that a
change rewrites a part of them only.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from quinion.lexical.tokens import find_terms
from quinion.model.record import Record, read_context

POSTING = np.dtype([("offset", "<u2"), ("count", "u1")])
"""Offset of a slot in its block, and number of occurrences."""
LENGTH = np.dtype("<u2")
MAX_COUNT = np.iinfo(np.uint8).max
MAX_LENGTH = int(np.iinfo(LENGTH).max)

Slots = NDArray[np.int64]
Counts = NDArray[np.float32]
Mask = NDArray[np.bool_]
"""True at the slots of the set."""
Lengths = NDArray[np.uint16]
"""By slot, one more than the number of terms; 0 for slots without an indexed record."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of a term as they are stored, which takes the least memory.

    `blocks` has the numbers of the blocks, each of `block_size` slots, and `ends` the ends of
    their parts.
    """

    stored: NDArray[np.void]
    blocks: Sequence[int]
    ends: Sequence[int]
    block_size: int

    def __len__(self) -> int:
        """The number of records with the term."""
        return len(self.stored)

    def slots(self) -> Slots:
        """The slots of the records with the term, by block."""
        # Indexing with smaller integers is slower: numpy converts them each time.
        slots: Slots = self.stored["offset"].astype(np.int64)
        firsts = np.array(self.blocks, np.int64) * self.block_size
        sizes = np.array(self.ends, np.int64)
        sizes[1:] -= sizes[:-1]  # numpy buffers where both overlap
        slots += np.repeat(firsts, sizes)
        return slots

    def counts(self, places: Slots | None = None) -> Counts:
        """The term's frequency in each of these records, or in those at these places."""
        counts = self.stored["count"]
        return (counts if places is None else counts[places]).astype(np.float32)

    def __contains__(self, slot: int) -> bool:
        """Whether the record at this slot has the term."""
        block = slot // self.block_size
        place = bisect_left(self.blocks, block)
        if place == len(self.blocks) or self.blocks[place] != block:
            return False
        start = self.ends[place - 1] if place else 0
        offsets = self.stored["offset"][start : self.ends[place]]
        return bool(np.count_nonzero(offsets == slot % self.block_size))


def count_terms(record: Record) -> Counter[str]:
    """Count the terms under which a record is found."""
    return Counter(find_terms(f"{read_context(record.metadata)}\n{record.text}"))


def encode_posting(offset: int, count: int) -> bytes:
    """Encode the posting of one record: its offset in the block, and the term's frequency."""
    return offset.to_bytes(2, "little") + bytes((min(count, MAX_COUNT),))


def remove_postings(postings: bytes, offsets: Sequence[int]) -> bytes:
    """Remove the postings at these offsets, where there are any."""
    for offset in offsets:
        wanted = offset.to_bytes(2, "little")
        place = postings.find(wanted)
        while place % POSTING.itemsize and place >= 0:
            place = postings.find(wanted, place + 1)
        if place >= 0:
            postings = postings[:place] + postings[place + POSTING.itemsize :]
    return postings


def decode(rows: Sequence[tuple[int, bytes]], block_size: int) -> Postings:
    """Decode blocks of postings, given with their numbers.

    Raises:
        ValueError: they are damaged.
    """
    found = np.frombuffer(b"".join([postings for _, postings in rows]), POSTING)
    if len(found) and found["offset"].max() >= block_size:
        raise ValueError("an offset beyond the end of its block")
    sizes = [len(postings) // POSTING.itemsize for _, postings in rows]
    return Postings(found, [block for block, _ in rows], [*accumulate(sizes)], block_size)
