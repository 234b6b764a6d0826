"""Bitmaps of slots: masks for computation, blocks of bytes for storage.

A block covers 65,536 slots. As in Roaring bitmaps, few slots are stored as a list of two-byte
numbers, many as one bit per slot. So a value that half of a million records have takes sixteen
reads.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.int64]
Mask = NDArray[np.bool_]
"""True at the slots of the set; its length may differ from the number of slots."""

BLOCK = 1 << 16
_NUMBER = np.dtype("<u2")
_BITS = BLOCK // 8
"""Length in bytes of a block stored as bits. A list is always shorter."""


def update(block: bytes, removed: Sequence[int], added: Sequence[int]) -> bytes:
    """Remove slots from a block and add others, which it does not have; return the new block.

    Slots are relative to the block. A block without slots is empty.
    """
    if len(block) != _BITS and len(block) + len(added) * _NUMBER.itemsize < _BITS:
        listed = np.frombuffer(block, _NUMBER)
        kept = listed[~np.isin(listed, removed)] if removed else listed
        return kept.tobytes() + np.array(added, _NUMBER).tobytes()
    bits = unpack(block)
    bits[removed] = False
    bits[added] = True
    if np.count_nonzero(bits) * _NUMBER.itemsize < _BITS:
        return np.flatnonzero(bits).astype(_NUMBER).tobytes()
    return np.packbits(bits).tobytes()


def unpack(block: bytes) -> Mask:
    """Convert a block to a mask."""
    mask = np.zeros(BLOCK, np.bool_)
    set_bits(mask, 0, [block])
    return mask


def set_bits(mask: Mask, number: int, blocks: Iterable[bytes]) -> None:
    """Set all slots of these blocks, which have the same number, in the mask.

    Slots beyond the end of the mask, which were added later, are ignored.
    """
    part = mask[number * BLOCK : (number + 1) * BLOCK]
    lists: list[bytes] = []
    for block in blocks:
        if len(block) == _BITS:
            part |= np.unpackbits(np.frombuffer(block, np.uint8)).view(np.bool_)[: len(part)]
        else:
            lists.append(block)
    listed = np.frombuffer(b"".join(lists), _NUMBER)
    part[listed[listed < len(part)]] = True
