"""The model as it runs: tokenizer and network, loaded and safe to use from many threads.

Importing this module imports onnxruntime and tokenizers, so it is imported only where a model is
about to be loaded.
"""

from collections.abc import Sequence
from typing import Any

import onnxruntime  # type: ignore[import-untyped]
from onnxruntime.capi import onnxruntime_pybind11_state as failures  # type: ignore[import-untyped]
from tokenizers import Tokenizer

from quinion.embed.encodable import encodable
from quinion.embed.padded import pad
from quinion.embed.port import Vectors
from quinion.embed.weights import PreparedModel
from quinion.errors import ModelUnavailable

MAX_TOKENS = 256
"""Of one text, with the two that the model puts around it: sentence-transformers' limit for it."""

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
_LOADING_FAILURES: tuple[type[Exception], ...] = (OSError, ValueError, *_FAILURES)


class MiniLM:
    """all-MiniLM-L6-v2, loaded.

    Texts are tokenized one by one: the batch methods of `tokenizers` start threads of their own,
    which print warnings in forked processes, and tokenizing is less than one percent of the work.
    """

    def __init__(self, model: PreparedModel) -> None:
        try:
            self._tokenizer = Tokenizer.from_buffer(model.tokenizer.read_bytes())
            self._session = _open_session(model)
        except _LOADING_FAILURES as error:
            raise ModelUnavailable(
                f"The embedding model in {model.folder} cannot be loaded: {error}. "
                "Delete that folder; the next start makes it again."
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def tokenize(self, text: str) -> list[int]:
        """The ids that the network is given, `MAX_TOKENS` at most."""
        return self._tokenizer.encode(encodable(text)).ids

    def count_tokens(self, text: str) -> int:
        """How many tokens the text itself has, before truncation."""
        kept = self._tokenizer.encode(encodable(text), add_special_tokens=False)
        return sum(len(part) for part in (kept, *kept.overflowing))

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


def _open_session(model: PreparedModel) -> Any:
    options = onnxruntime.SessionOptions()
    # Several batches on one thread each beat one batch on several threads by up to a tenth, and a
    # query does not wait for a pool that is busy. Threads are the caller's.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # A plan of the memory is kept per shape of batch, and hardly two batches have the same.
    options.enable_mem_pattern = False
    return onnxruntime.InferenceSession(
        model.graph, sess_options=options, providers=["CPUExecutionProvider"]
    )
