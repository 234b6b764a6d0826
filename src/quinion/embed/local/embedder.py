"""Embeds on this machine's processor, with all-MiniLM-L6-v2.

Nothing is loaded before the first text: a server that is never asked costs nothing, and one that
should answer its first search quickly calls `load` from a background thread. Loading takes
0.1 to 0.2 seconds, and half a second on the first start of all.
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
from quinion.embed.batch import form_batches
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

CACHED_TEXTS = 16_384
"""25 MB of vectors; memory is taken as they come."""
CACHED_QUERIES = 256

_DIMENSIONS = 384


class LocalEmbedder:
    """An `Embedder`. A batch of texts uses `threads` cores, all by default; a query uses one.

    `numerics` is the engine that calculates batches; None: that which was chosen for this home,
    or is when the first batch comes. Queries are left to ONNX Runtime: in float32 where batches
    are in float32 too, else with the light graph.
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
        # Two locks, so that a query does not wait until an engine has been chosen. Who holds
        # `_choosing` may take `_loading`, not the other way round.
        self._loading = RLock()
        self._choosing = Lock()
        self._threads = threads or _count_cores()
        self._pool = ThreadPoolExecutor(self._threads, "embed", lower_priority)
        # Apart from each other, because their numerics may differ.
        self._texts = EmbeddingCache(CACHED_TEXTS, _DIMENSIONS)
        self._queries = EmbeddingCache(CACHED_QUERIES, _DIMENSIONS)

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return _DIMENSIONS

    @property
    def fingerprint(self) -> str:
        """The weights and the numerics that the vectors come from.

        Raises:
            ModelUnavailable: they are to be chosen now, and the model cannot be loaded.
        """
        return f"{MODEL_NAME}:{WEIGHTS_SHA256[:8]}:{self._chosen()}"

    def load(self) -> None:
        """Load the model now rather than at the first text.

        Raises:
            ModelUnavailable: there is no model, it is not the right one, or it is damaged.
        """
        self._loaded()
        self._for_queries()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text, in order. A text that was met lately is not embedded again.

        Raises:
            ValueError: a text is empty or only white space.
            ModelUnavailable: the model cannot be loaded or run.
            BadSetting: the engine that was chosen for this home is not to be had.
        """
        check_texts(texts)
        wanted = list(dict.fromkeys(texts))
        known = self._texts.recall(wanted)
        missing = [text for text in wanted if text not in known]
        if missing:
            made = self._run(missing)
            self._texts.keep(missing, made)
            known |= zip(missing, made, strict=True)
        vectors = np.empty((len(texts), _DIMENSIONS), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = known[text]
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """One unit vector, on the calling thread: it does not queue behind batches.

        Raises:
            ValueError: the text is empty or only white space.
            ModelUnavailable: the model cannot be loaded or run.
        """
        check_texts([text])
        known = self._queries.recall([text])
        if text in known:
            return known[text]
        vectors = self._for_queries().run([self._loaded().ids(text)])
        self._queries.keep([text], vectors)
        vector: Vectors = vectors[0]
        return vector

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, without the two that the model puts around it.

        Raises:
            ModelUnavailable: the model cannot be loaded.
        """
        tokenizer = self._loaded()
        return [tokenizer.count(text) for text in texts]

    def _run(self, texts: Sequence[str]) -> Vectors:
        """A row for each text, on all threads."""
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
                # Here, not above: it imports tokenizers, which a server may never need.
                from quinion.embed.local.tokenizer import ModelTokenizer  # noqa: PLC0415

                self._tokenizer = ModelTokenizer(prepare(self._cache_dir, self._model_dir))
            return self._tokenizer

    def _chosen(self) -> Numerics:
        with self._choosing:
            if self._numerics is None:
                noted = read_choice(self._cache_dir)
                self._numerics = noted or choose_runtime(
                    self._cache_dir, self._model_dir, self._threads
                )
                if noted is None:
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
        # Here, not above: it imports onnxruntime, which a server may never need.
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
                # There, so that the threads that it starts give way as well.
                opening = self._pool.submit(open_network, numerics, model, self._threads)
                self._networks[numerics] = opening.result()
                freeze_gc(f"model with {numerics}")
            return self._networks[numerics]


def _count_cores() -> int:
    """The cores that this process may run on, which in a container are often not all."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
