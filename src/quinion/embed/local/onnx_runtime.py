"""The network on ONNX Runtime: always there, and in float32 what others are compared with.

Importing this module imports onnxruntime, so it is imported only where that is to be used.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnxruntime  # type: ignore[import-untyped]
from onnxruntime.capi import onnxruntime_pybind11_state as failures  # type: ignore[import-untyped]

from quinion.embed.base import Vectors
from quinion.embed.local.padding import pad
from quinion.embed.local.weights import load_error
from quinion.errors import ModelUnavailable

# onnxruntime's exceptions have no parent of their own.
_FAILURES: tuple[type[Exception], ...] = (
    failures.Fail,
    failures.InvalidArgument,
    failures.InvalidGraph,
    failures.InvalidProtobuf,
    failures.NoSuchFile,
    failures.NotImplemented,
    failures.RuntimeException,
)


class OnnxRuntime:
    """A graph that `graph.py` has written, loaded; it may be run on many threads at once."""

    def __init__(self, graph: Path) -> None:
        try:
            self._session = _open_session(graph)
        except _FAILURES as error:
            raise load_error(graph.parent, error) from error

    def run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        """One unit row per list of ids, on the calling thread alone.

        Raises:
            ModelUnavailable: the network cannot be run, for want of memory for example.
        """
        input_ids, attention_mask = pad(batch)
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        try:
            vectors: Vectors = self._session.run(["embedding"], inputs)[0]
        except _FAILURES as error:
            raise ModelUnavailable(f"The embedding model failed: {error}.") from error
        return vectors


def _open_session(graph: Path) -> Any:
    options = onnxruntime.SessionOptions()
    # Several batches on one thread each beat one batch on several threads by up to a tenth, and a
    # query does not wait for a pool that is busy. Threads are the caller's.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # A plan of the memory is kept per shape of batch, and hardly two batches have the same.
    options.enable_mem_pattern = False
    return onnxruntime.InferenceSession(
        graph, sess_options=options, providers=["CPUExecutionProvider"]
    )
