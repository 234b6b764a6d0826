"""Records put aside while they are being replaced, to be put back if that fails."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from quinion.errors import StoreUnavailable
from quinion.model.record import Record


def save(folder: Path, records: Sequence[Record], vectors: NDArray[np.float32]) -> Path:
    """Write records and vectors into a new file of the folder, down to the disk.

    Raises:
        StoreUnavailable: the file cannot be written.
    """
    described = json.dumps([[record.id, record.text, dict(record.metadata)] for record in records])
    path = folder / f"{uuid4().hex}.npz"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            np.savez(file, records=np.frombuffer(described.encode(), np.uint8), vectors=vectors)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise StoreUnavailable(
            f"{path} cannot be written ({error.strerror}). Free some space and try again."
        ) from error
    return path


def load(path: Path) -> tuple[list[Record], NDArray[np.float32]]:
    """What `save` wrote."""
    with np.load(path) as content:
        described = json.loads(content["records"].tobytes().decode())
        return [Record(*one) for one in described], content["vectors"]
