"""Padding of token id lists to the matrices that the network takes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]


def pad(batch: Sequence[Sequence[int]]) -> tuple[Ids, Ids]:
    """Return the ids padded to the longest list, and a mask that is 1 at real tokens."""
    shape = (len(batch), max(map(len, batch)))
    input_ids = np.zeros(shape, np.int32)
    attention_mask = np.zeros(shape, np.int32)
    for row, ids in enumerate(batch):
        input_ids[row, : len(ids)] = ids
        attention_mask[row, : len(ids)] = 1
    return input_ids, attention_mask
