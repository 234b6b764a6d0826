"""The network on CTranslate2 in eight bits: for batches, on processors of any kind.

Faster than onnxruntime in float32, and in need of no instructions that only new processors have. A
vector's cosine with the exact one is 0.995 at the least, and a text has not quite the same one in
another batch (0.9992); judged queries find the same (docs/embedding.md). Queries are left to
onnxruntime.

The weights are turned to eight bits once, from the graph that onnxruntime runs, and kept beside
it. Importing this module imports CTranslate2, so it is imported only where that is to be used.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import ctranslate2  # type: ignore[import-untyped,import-not-found,unused-ignore]
import numpy as np

from quinion.embed.base import Vectors
from quinion.embed.local.weights import PreparedModel
from quinion.errors import ModelUnavailable

VERSION = 1
"""To be raised when `int8.py` writes something else, so that nothing old is used again."""


class CTranslate2:
    """The network, loaded; `threads` batches are run at once, and others wait."""

    def __init__(self, model: PreparedModel, threads: int) -> None:
        folder = model.folder.with_name(f"{model.folder.name}-int8-v{VERSION}")
        try:
            _prepare(model, folder)
            self._encoder = ctranslate2.Encoder(
                str(folder), compute_type="int8", inter_threads=threads, intra_threads=1
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise ModelUnavailable(
                f"CTranslate2 cannot load the embedding model from {folder}: {error}. "
                "Delete that folder, or set QUINION_EMBEDDING_ENGINE=onnx."
            ) from error

    def run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        """One unit row per list of ids.

        Raises:
            ModelUnavailable: the network cannot be run.
        """
        try:
            output = self._encoder.forward_batch([list(ids) for ids in batch])
            hidden: Vectors = np.asarray(output.last_hidden_state)
        except RuntimeError as error:
            raise ModelUnavailable(f"The embedding model failed: {error}.") from error
        # What is beyond a text's own tokens is not zero, so each is summed up by itself.
        vectors: Vectors = np.stack(
            [row[: len(ids)].sum(0) for row, ids in zip(hidden, batch, strict=True)]
        )
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


def _prepare(model: PreparedModel, folder: Path) -> None:
    """Make the folder of the model in eight bits, whole or not at all, if it is not there."""
    if folder.is_dir():
        return
    # Here, not above: what it imports takes a while, and is needed once.
    from quinion.embed.local.ctranslate2_export import write_int8  # noqa: PLC0415

    with TemporaryDirectory(prefix="building-", dir=folder.parent) as scratch:
        built = Path(scratch) / folder.name
        built.mkdir()
        write_int8(model, built)
        for path in built.iterdir():
            with path.open("r+b") as file:
                os.fsync(file.fileno())
        try:
            built.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
            # Another process was faster, and made the same.
