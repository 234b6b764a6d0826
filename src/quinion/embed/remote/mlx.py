"""Embedder on the GPU of an Apple machine, with the package mlx-embeddings.

Written for mlx-embeddings 0.1.0 (`load`, `generate`, `utils.get_model_path`) and tested with MLX's
CPU backend on Linux; it was never run on an Apple machine.

MLX binds its work to the thread that started it, so all calls run on one dedicated thread. A large
call is split into batches, so a query waits for one batch at most.

mlx-embeddings pools all models of the BERT family by their mean: correct for all-MiniLM, nomic and
e5, not for bge and mxbai.
"""

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from quinion.embed.base import Vectors
from quinion.embed.encodable import encodable
from quinion.embed.prompts import find_prompts
from quinion.embed.vectors import check_texts, normalize_rows, split_batches
from quinion.errors import ModelUnavailable

MAX_TOKENS = 512
"""Token limit of a text; longer texts are truncated."""

_FAILURES = (OSError, ValueError, RuntimeError, LookupError, TypeError, AttributeError)


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    generate: Callable[[list[str]], Any]
    digest: str
    dimensions: int


class MLXEmbedder:
    """`Embedder` on MLX. The model is a folder, or a name on the Hugging Face Hub."""

    def __init__(self, model: str, count: Callable[[str], int]) -> None:
        self._model = model
        self._prompts = find_prompts(model)
        self._count = count
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mlx")
        self._loaded: _LoadedModel | None = None

    @property
    def dimensions(self) -> int:
        """The length of a vector.

        Raises:
            ModelUnavailable: the model cannot be loaded.
        """
        return self._ready().dimensions

    @property
    def fingerprint(self) -> str:
        """Identifies the model, its weights and its prompts.

        Raises:
            ModelUnavailable: the model cannot be loaded.
        """
        name = self._model.rstrip("/").rpartition("/")[2]
        parts = ("mlx", name, self._ready().digest, self._prompts.mark)
        return ":".join(filter(None, parts))

    def load(self) -> None:
        """Load the model now instead of with the first text; the first time, it is downloaded.

        Raises:
            ModelUnavailable: MLX is not installed, or the model cannot be loaded.
        """
        self._ready()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order.

        Raises:
            ValueError: a text is empty or only white space.
            ModelUnavailable: the model cannot be loaded or run.
        """
        check_texts(texts)
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        return self._embed([self._prompts.document + text for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Return one unit vector; it waits for one batch at most.

        Raises:
            ValueError: the text is empty or only white space.
            ModelUnavailable: the model cannot be loaded or run.
        """
        check_texts([text])
        vector: Vectors = self._embed([self._prompts.query + text])[0]
        return vector

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text with the common vocabulary."""
        return [self._count(text) for text in texts]

    def _embed(self, texts: Sequence[str]) -> Vectors:
        generate = self._ready().generate
        pieces = [
            self._thread.submit(_run, generate, piece).result() for piece in split_batches(texts)
        ]
        return np.concatenate(pieces)

    def _ready(self) -> _LoadedModel:
        return self._loaded or self._thread.submit(self._load).result()

    def _load(self) -> _LoadedModel:
        if self._loaded is None:
            try:
                library = import_module("mlx_embeddings")
            except ImportError as error:
                raise ModelUnavailable(
                    f"MLX cannot be used here: {error}. It needs a Mac with Apple silicon and "
                    "`pip install mlx-embeddings`. DOCVEC_BACKEND=local works on every machine; "
                    "ollama and openai work where such a server is."
                ) from error
            self._loaded = _load_model(library, self._model)
        return self._loaded


def _load_model(library: Any, name: str) -> _LoadedModel:
    try:
        folder = library.utils.get_model_path(name)
        digest = _hash_weights(folder)
        model, tokenizer = library.load(str(folder))
    except (*_FAILURES, library.utils.ModelNotFoundError) as error:
        raise ModelUnavailable(
            f"MLX cannot load the model {name}: {error}. Set DOCVEC_MODEL to a folder, or to the "
            "name of a model for mlx-embeddings on the Hugging Face Hub."
        ) from error

    def generate(texts: list[str]) -> Any:
        return library.generate(model, tokenizer, texts, max_length=MAX_TOKENS)

    return _LoadedModel(generate, digest, _run(generate, ["word"]).shape[1])


def _run(generate: Callable[[list[str]], Any], texts: list[str]) -> Vectors:
    try:
        rows = generate([encodable(text) for text in texts]).text_embeds.tolist()
    except _FAILURES as error:
        raise ModelUnavailable(f"MLX failed: {error}.") from error
    return normalize_rows(rows, len(texts), "MLX")


def _hash_weights(folder: Path) -> str:
    weights = hashlib.sha256()
    for file in sorted(folder.rglob("*.safetensors")):
        with file.open("rb") as content:
            weights.update(hashlib.file_digest(content, "sha256").digest())
    return weights.hexdigest()[:12]
