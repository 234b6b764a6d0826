"""CTranslate2 backend in eight bits: for batches, on any processor.

It is faster than onnxruntime in float32 and needs no recent CPU instructions. A vector's cosine
with the exact one is at least 0.995; the same text in another batch gets a slightly different
vector (cosine 0.9992). Judged queries return the same results (docs/embedding.md). Queries run on
onnxruntime.

The weights are quantized once, from the ONNX graph, and kept beside it. Importing this module
imports CTranslate2, so import it only where it is used.
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
"""Increase it when the output of `ctranslate2_export.py` changes, so that old files are unused."""


class CTranslate2:
    """The loaded network. It runs `threads` batches at once; further ones wait."""

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
        """Return one unit row per list of token ids.

        Raises:
            ModelUnavailable: the network cannot be run.
        """
        try:
            output = self._encoder.forward_batch([list(ids) for ids in batch])
            hidden: Vectors = np.asarray(output.last_hidden_state)
        except RuntimeError as error:
            raise ModelUnavailable(f"The embedding model failed: {error}.") from error
        # Rows beyond a text's tokens are not zero, so each text is summed separately.
        vectors: Vectors = np.stack(
            [row[: len(ids)].sum(0) for row, ids in zip(hidden, batch, strict=True)]
        )
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


def _prepare(model: PreparedModel, folder: Path) -> None:
    """Write the quantized model atomically unless its folder exists."""
    if folder.is_dir():
        return
    # Imported here: its imports are slow and needed only once.
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
            # Another process has written the same files first.
