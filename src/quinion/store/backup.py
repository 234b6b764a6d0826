"""Records put aside while they are being replaced, to be put back if that fails."""

import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from quinion.errors import StoreUnavailable
from quinion.model.record import Record

Part = tuple[str, Sequence[Record], NDArray[np.float32]]
"""A collection, records of it, and their vectors."""


def save(folder: Path, parts: Sequence[Part]) -> Path:
    """Write the parts into a new file of the folder, down to the disk.

    Raises:
        StoreUnavailable: the file cannot be written.
    """
    described = json.dumps(
        [
            [collection, [[record.id, record.text, dict(record.metadata)] for record in records]]
            for collection, records, _ in parts
        ]
    )
    path = folder / f"{uuid4().hex}.npz"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            np.savez(
                file, np.frombuffer(described.encode(), np.uint8), *(part[2] for part in parts)
            )
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise StoreUnavailable(
            f"{path} cannot be written ({error.strerror}). Free some space and try again."
        ) from error
    return path


def load(path: Path) -> Iterator[Part]:
    """What `save` wrote."""
    with np.load(path) as content:
        described = json.loads(content["arr_0"].tobytes().decode())
        for place, (collection, records) in enumerate(described, 1):
            yield collection, [Record(*one) for one in records], content[f"arr_{place}"]


def sweep(folder: Path, wanted: Collection[str]) -> None:
    """Delete what a dead process has put aside, but for files of these names: it died before it
    replaced anything, or after."""
    for path in list(folder.glob("*.npz")):
        if path.name not in wanted:
            with suppress(OSError):
                path.unlink()
