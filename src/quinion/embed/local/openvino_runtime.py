"""The network on OpenVINO in bfloat16: for batches, where the processor has instructions for it.

Twice as fast as onnxruntime in float32 on such a processor, and as good: docs/embedding.md has
the figures. It takes half a second and 150 MB to load, so queries, which are short, are left to
onnxruntime.

Importing this module imports OpenVINO, so it is imported only where that is to be used.
"""

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from queue import LifoQueue
from threading import Lock
from typing import Any

# With OpenVINO comes a package that reports the use of its converters to its maker. They are not
# used here; without that package they have a stand-in of their own.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]

import openvino  # type: ignore[import-untyped]  # noqa: E402

from quinion.embed.base import Vectors  # noqa: E402
from quinion.embed.local.padding import pad  # noqa: E402
from quinion.errors import ModelUnavailable  # noqa: E402

LENGTH_STEP = 16
"""Batches are padded to multiples of it. OpenVINO keeps a plan for each shape that it has met:
with all lengths that is 150 MB more, and nothing gained."""

_PADDING = 0


_first = Lock()
"""For everything that OpenVINO does once in a process."""


@cache
def _core() -> Any:
    """The one of this process: none is given up while another is at work."""
    return openvino.Core()


class OpenVino:
    """The network, compiled; `threads` batches are run at once, and others wait."""

    def __init__(self, graph: Path, threads: int) -> None:
        # All made now, and no more than there are threads: none is made while another is used.
        self._requests: LifoQueue[Any] = LifoQueue()
        with _first:
            try:
                model = _core().compile_model(
                    graph,
                    "CPU",
                    {
                        "INFERENCE_PRECISION_HINT": "bf16",
                        "NUM_STREAMS": threads,
                        "INFERENCE_NUM_THREADS": threads,
                        "ENABLE_CPU_PINNING": False,
                    },
                )
            except RuntimeError as error:
                raise ModelUnavailable(
                    f"OpenVINO cannot load the embedding model in {graph.parent}: {error}. "
                    "Delete that folder, or set QUINION_EMBEDDING_ENGINE=onnx."
                ) from error
            for _ in range(threads):
                self._requests.put(model.create_infer_request())
            # The first tensor of a process that is looked into from two threads at once stops it
            # for good: one thread has the interpreter's lock and waits for a C++ static that the
            # other is making, and that one waits for the lock (OpenVINO 2026.4).
            self.run([[_PADDING]])

    def run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        """One unit row per list of ids.

        Raises:
            ModelUnavailable: the network cannot be run.
        """
        input_ids, attention_mask = pad(batch, LENGTH_STEP)
        request = self._requests.get()
        try:
            request.infer({"input_ids": input_ids, "attention_mask": attention_mask})
            vectors: Vectors = request.get_output_tensor().data.copy()
        except RuntimeError as error:
            raise ModelUnavailable(f"The embedding model failed: {error}.") from error
        finally:
            self._requests.put(request)
        return vectors


def has_bfloat16() -> bool:
    """Whether this processor has instructions for it; without, it would be made up in software."""
    with _first:
        return "BF16" in _core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
