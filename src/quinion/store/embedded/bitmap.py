"""Sets of slots: as masks where they are computed with, as blocks of bytes where they are kept.

A block covers 65,536 slots. Few of them are kept as a list of two-byte numbers, many as a bit
for each (so do Roaring bitmaps), so that a value that half of a million records have takes
sixteen reads.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.int64]
Mask = NDArray[np.bool_]
"""True at the slots that are meant; it may be shorter or longer than what it is laid on."""

BLOCK = 1 << 16
_NUMBER = np.dtype("<u2")
_BITS = BLOCK // 8
"""The length in bytes of a block as bits. A list is always shorter."""


def update(block: bytes, slots: Sequence[int], *, held: bool) -> bytes:
    """The block with these slots, which it does not have yet, or without them; slots are counted
    from its beginning. No bytes where none is left."""
    if held and len(block) + len(slots) * _NUMBER.itemsize < _BITS:
        return block + np.array(slots, _NUMBER).tobytes()
    if not held and len(block) != _BITS:
        listed = np.frombuffer(block, _NUMBER)
        return listed[~np.isin(listed, slots)].tobytes()
    bits = unpack(block)
    bits[slots] = held
    if np.count_nonzero(bits) * _NUMBER.itemsize < _BITS:
        return np.flatnonzero(bits).astype(_NUMBER).tobytes()
    return np.packbits(bits).tobytes()


def unpack(block: bytes) -> Mask:
    """The slots of the block as a mask."""
    mask = np.zeros(BLOCK, np.bool_)
    set_bits(mask, 0, [block])
    return mask


def set_bits(mask: Mask, number: int, blocks: Iterable[bytes]) -> None:
    """Set in the mask all slots of these blocks, which have this number; those that came after
    the mask was made are not on it."""
    part = mask[number * BLOCK : (number + 1) * BLOCK]
    lists: list[bytes] = []
    for block in blocks:
        if len(block) == _BITS:
            part |= np.unpackbits(np.frombuffer(block, np.uint8)).view(np.bool_)[: len(part)]
        else:
            lists.append(block)
    listed = np.frombuffer(b"".join(lists), _NUMBER)
    part[listed[listed < len(part)]] = True
