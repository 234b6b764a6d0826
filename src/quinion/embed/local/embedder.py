"""Local embedder: all-MiniLM-L6-v2 on this machine's processor.

The model is loaded with the first text, so an idle server costs nothing. A server that must answer
its first search quickly calls `load` from a background thread. Loading takes 0.1 to 0.2 seconds,
and half a second when the model is first prepared.
"""

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING

import numpy as np

from quinion.embed.base import Vectors
from quinion.embed.cache import EmbeddingCache
from quinion.embed.local.benchmark import choose_runtime
from quinion.embed.local.runtimes import (
    Network,
    Numerics,
    is_installed,
    not_installed,
    open_network,
    read_choice,
    write_choice,
)
from quinion.embed.local.weights import MODEL_NAME, WEIGHTS_SHA256, prepare
from quinion.embed.vectors import check_texts
from quinion.runtime_tuning import freeze_gc, lower_priority

if TYPE_CHECKING:
    from quinion.embed.local.tokenizer import ModelTokenizer

TOKEN_BUDGET = 512
"""Tokens per batch, padding included. Speed is the same from 256 to 1,024 and a fifth lower at
8,192. Memory grows with it: 25 MB per thread at 512, 300 MB at 8,192."""
CACHED_TEXTS = 16_384
"""25 MB of vectors; memory is used as the cache fills."""
CACHED_QUERIES = 256

_DIMENSIONS = 384


class LocalEmbedder:
    """`Embedder` for the local model. Batches use `threads` cores (default: all), queries one.

    `numerics` is the runtime for batches; None means the one stored for this home, chosen with
    the first batch. Queries run on ONNX Runtime: in float32 if batches do, else on the light
    graph.
    """

    def __init__(
        self,
        cache_dir: Path,
        model_dir: Path | None = None,
        threads: int | None = None,
        numerics: Numerics | None = Numerics.ONNX,
    ) -> None:
        self._cache_dir = cache_dir
        self._model_dir = model_dir
        self._numerics = numerics
        self._tokenizer: ModelTokenizer | None = None
        self._networks: dict[Numerics, Network] = {}
        self._light: Network | None = None
        # Two locks, so that a query does not wait for the choice of a runtime. Lock order:
        # `_choosing` before `_loading`.
        self._loading = RLock()
        self._choosing = Lock()
        self._threads = threads or _count_cores()
        self._pool = ThreadPoolExecutor(self._threads, "embed", lower_priority)
        # Separate caches, because their numerics may differ.
        self._texts = EmbeddingCache(CACHED_TEXTS, _DIMENSIONS)
        self._queries = EmbeddingCache(CACHED_QUERIES, _DIMENSIONS)

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return _DIMENSIONS

    @property
    def fingerprint(self) -> str:
        """Identifies the weights and the numerics of the vectors.

        Raises:
            ModelUnavailable: a runtime must be chosen first and the model cannot be loaded.
        """
        return f"{MODEL_NAME}:{WEIGHTS_SHA256[:8]}:{self._chosen()}"

    def load(self) -> None:
        """Load the model now instead of with the first text.

        Raises:
            ModelUnavailable: the model is missing, damaged or not the right one.
        """
        self._loaded()
        self._for_queries()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order. Recent texts come from the cache.

        Raises:
            ValueError: a text is empty or only white space.
            ModelUnavailable: the model cannot be loaded or run.
            BadSetting: the runtime chosen for this home is not installed.
        """
        check_texts(texts)
        wanted = list(dict.fromkeys(texts))
        known = self._texts.get(wanted)
        missing = [text for text in wanted if text not in known]
        if missing:
            made = self._run(missing)
            self._texts.put(missing, made)
            known |= zip(missing, made, strict=True)
        vectors = np.empty((len(texts), _DIMENSIONS), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = known[text]
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Return one unit vector. Runs on the calling thread, so it does not queue behind batches.

        Raises:
            ValueError: the text is empty or only white space.
            ModelUnavailable: the model cannot be loaded or run.
        """
        check_texts([text])
        known = self._queries.get([text])
        if text in known:
            return known[text]
        vectors = self._for_queries().run([self._loaded().ids(text)])
        self._queries.put([text], vectors)
        vector: Vectors = vectors[0]
        return vector

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text, without the two special tokens.

        Raises:
            ModelUnavailable: the model cannot be loaded.
        """
        tokenizer = self._loaded()
        return [tokenizer.count(text) for text in texts]

    def _run(self, texts: Sequence[str]) -> Vectors:
        """Compute a row for each text, on all threads."""
        tokenizer, network = self._loaded(), self._for_batches()
        ids = [tokenizer.ids(text) for text in texts]
        batches = form_batches([len(tokens) for tokens in ids])
        results = self._pool.map(lambda batch: network.run([ids[i] for i in batch]), batches)
        vectors = np.empty((len(texts), _DIMENSIONS), np.float32)
        for batch, rows in zip(batches, results, strict=True):
            vectors[batch] = rows
        return vectors

    def _loaded(self) -> "ModelTokenizer":
        with self._loading:
            if self._tokenizer is None:
                # Imported here: it imports tokenizers, which a server may never need.
                from quinion.embed.local.tokenizer import ModelTokenizer  # noqa: PLC0415

                self._tokenizer = ModelTokenizer(prepare(self._cache_dir, self._model_dir))
            return self._tokenizer

    def _chosen(self) -> Numerics:
        with self._choosing:
            if self._numerics is None:
                stored = read_choice(self._cache_dir)
                self._numerics = stored or choose_runtime(
                    self._cache_dir, self._model_dir, self._threads
                )
                if stored is None:
                    write_choice(self._cache_dir, self._numerics)
            return self._numerics

    def _for_batches(self) -> Network:
        chosen = self._chosen()
        if chosen not in self._networks and not is_installed(chosen):
            raise not_installed(chosen)
        return self._open(chosen)

    def _for_queries(self) -> Network:
        if (self._numerics or read_choice(self._cache_dir)) is Numerics.ONNX:
            return self._open(Numerics.ONNX)
        # Imported here: it imports onnxruntime, which a server may never need.
        from quinion.embed.local.onnx_runtime import OnnxRuntime  # noqa: PLC0415

        with self._loading:
            if self._light is None:
                self._light = OnnxRuntime(prepare(self._cache_dir, self._model_dir).light_graph)
                freeze_gc("model for queries")
            return self._light

    def _open(self, numerics: Numerics) -> Network:
        with self._loading:
            if numerics not in self._networks:
                model = prepare(self._cache_dir, self._model_dir)
                # On a pool thread, so that the threads it starts inherit the low priority.
                opening = self._pool.submit(open_network, numerics, model, self._threads)
                self._networks[numerics] = opening.result()
                freeze_gc(f"model with {numerics}")
            return self._networks[numerics]


def _count_cores() -> int:
    """Count the cores available to this process; in a container, often not all."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def form_batches(lengths: Sequence[int], budget: int = TOKEN_BUDGET) -> list[list[int]]:
    """Group the indices of `lengths` into batches, the longest texts first.

    A batch is padded to its longest text, and its intermediate results should fit into the
    processor's cache. Both favor small batches of texts of similar length.

    A text longer than the budget gets its own batch. Long texts come first, so that on several
    threads the last batches to finish are short.
    """
    batches: list[list[int]] = []
    slots = 0
    for index in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if slots == 0:
            batches.append([])
            slots = max(1, budget // lengths[index])
        batches[-1].append(index)
        slots -= 1
    return batches
