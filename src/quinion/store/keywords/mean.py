"""Sample of a collection, from which its mean vector is computed."""

import numpy as np

from quinion.store.keywords.postings import Mask, Slots

MEAN_SAMPLE = 4_096
"""Number of vectors that the mean of a collection is computed from."""


def sample_slots(live: Mask) -> Slots:
    """Sample evenly spaced records, or all of a small collection."""
    slots = np.flatnonzero(live)
    places = np.linspace(0, len(slots) - 1, min(len(slots), MEAN_SAMPLE)).astype(np.int64)
    return slots[places]
