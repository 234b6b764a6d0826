"""Sets of slots: as masks where they are reckoned with, as blocks of bytes where they are kept.

A block covers 65,536 slots. Few of them are kept as a list of two-byte numbers, many as a bit
for each (so do Roaring bitmaps), so that a value that half of a million records have takes
sixteen reads.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.int64]
Mask = NDArray[np.bool_]
"""True at the slots that are meant; it may be shorter or longer than what it is laid on."""

BLOCK = 1 << 16
_NUMBER = np.dtype("<u2")
_BITS = BLOCK // 8
"""The length in bytes of a block as bits. A list is always shorter."""


def add(block: bytes, numbers: Iterable[int]) -> bytes:
    """The block with these slots, which it does not have yet; numbers are counted from its
    beginning."""
    new = np.fromiter(numbers, _NUMBER)
    if len(block) == _BITS:
        bits = _unpack(block)
        bits[new] = True
        return np.packbits(bits).tobytes()
    listed = block + new.tobytes()
    if len(listed) < _BITS:
        return listed
    bits = np.zeros(BLOCK, np.bool_)
    bits[np.frombuffer(listed, _NUMBER)] = True
    return np.packbits(bits).tobytes()


def remove(block: bytes, numbers: Iterable[int]) -> bytes:
    """The block without these slots; no bytes where none is left."""
    gone = np.fromiter(numbers, _NUMBER)
    if len(block) == _BITS:
        bits = _unpack(block)
        bits[gone] = False
        if np.count_nonzero(bits) * _NUMBER.itemsize < _BITS:
            return np.flatnonzero(bits).astype(_NUMBER).tobytes()
        return np.packbits(bits).tobytes()
    listed = np.frombuffer(block, _NUMBER)
    return listed[~np.isin(listed, gone)].tobytes()


def lay(mask: Mask, number: int, block: bytes) -> None:
    """Set in the mask all slots of the block with this number; those that came after the mask
    was made are not on it."""
    part = mask[number * BLOCK : (number + 1) * BLOCK]
    if len(block) == _BITS:
        part |= _unpack(block)[: len(part)]
    else:
        listed = np.frombuffer(block, _NUMBER)
        part[listed[listed < len(part)]] = True


def numbers(block: bytes) -> Slots:
    """The slots of the block, counted from its beginning."""
    if len(block) == _BITS:
        return np.flatnonzero(_unpack(block))
    return np.frombuffer(block, _NUMBER).astype(np.int64)


def _unpack(block: bytes) -> Mask:
    return np.unpackbits(np.frombuffer(block, np.uint8)).view(np.bool_)
