"""ONNX Runtime backend: always installed; its float32 vectors are the reference.

Importing this module imports onnxruntime, so import it only where it is used.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as failures  # type: ignore[import-untyped]

from quinion.embed.base import Vectors
from quinion.embed.local.weights import load_error
from quinion.errors import ModelUnavailable

# onnxruntime's exceptions have no common base class.
_FAILURES: tuple[type[Exception], ...] = (
    failures.Fail,
    failures.InvalidArgument,
    failures.InvalidGraph,
    failures.InvalidProtobuf,
    failures.NoSuchFile,
    failures.NotImplemented,
    failures.RuntimeException,
)

_Ids = NDArray[np.int32]


class OnnxRuntime:
    """A graph written by `onnx_export.py`, loaded. Thread-safe."""

    def __init__(self, graph: Path) -> None:
        try:
            self._session = _open_session(graph)
        except _FAILURES as error:
            raise load_error(graph.parent, error) from error

    def run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        """Return one unit row per list of token ids. Uses the calling thread only.

        Raises:
            ModelUnavailable: the network cannot be run, e.g. out of memory.
        """
        input_ids, attention_mask = _pad(batch)
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        try:
            vectors: Vectors = self._session.run(["embedding"], inputs)[0]
        except _FAILURES as error:
            raise ModelUnavailable(f"The embedding model failed: {error}.") from error
        return vectors


def _open_session(graph: Path) -> Any:
    options = onnxruntime.SessionOptions()
    # Several batches on one thread each are up to a tenth faster than one batch on several
    # threads, and a query does not wait for a busy pool. The caller provides the threads.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # A memory pattern is cached per batch shape, and few batches have the same shape.
    options.enable_mem_pattern = False
    return onnxruntime.InferenceSession(
        graph, sess_options=options, providers=["CPUExecutionProvider"]
    )


def _pad(batch: Sequence[Sequence[int]]) -> tuple[_Ids, _Ids]:
    """Return the ids padded to the longest list, and a mask that is 1 at real tokens."""
    shape = (len(batch), max(map(len, batch)))
    input_ids = np.zeros(shape, np.int32)
    attention_mask = np.zeros(shape, np.int32)
    for row, ids in enumerate(batch):
        input_ids[row, : len(ids)] = ids
        attention_mask[row, : len(ids)] = 1
    return input_ids, attention_mask
