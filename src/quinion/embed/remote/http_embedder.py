"""Base class of embedders that call an HTTP server.

Texts are sent in batches, one after the other. A query is a separate request that the server
handles between two batches. There is no lock: if a server hangs, all callers time out at the same
time, not one after the other.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus

import numpy as np

from quinion.embed.base import Vectors
from quinion.embed.encodable import encodable
from quinion.embed.prompts import find_prompts
from quinion.embed.vectors import check_texts, normalize_rows, split_batches
from quinion.errors import ModelUnavailable
from quinion.http_client import JsonClient, Refused, Service

Rows = Sequence[Sequence[float]]

HOST = "DOCVEC_HOST"
"""Variable with the server's address."""

_NOT_THESE_TEXTS = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
}


def make_service(name: str) -> Service:
    """Describe an embedding server for error messages."""
    return Service(name, HOST, ModelUnavailable, "DOCVEC_API_KEY", "DOCVEC_TIMEOUT")


@dataclass(frozen=True, slots=True)
class _ServedModel:
    """The model at the first request."""

    identity: str
    dimensions: int


class RemoteEmbedder(ABC):
    """`Embedder` on a server; a subclass implements one API."""

    def __init__(self, client: JsonClient, model: str, count: Callable[[str], int]) -> None:
        self._client = client
        self._model = model
        self._prompts = find_prompts(model)
        self._count = count
        self._loaded: _ServedModel | None = None

    @property
    def dimensions(self) -> int:
        """The length of a vector.

        Raises:
            ModelUnavailable: the server or its model cannot be used.
        """
        return self._ready().dimensions

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Identifies the model: vectors of two fingerprints are never mixed.

        Raises:
            ModelUnavailable: the server or its model cannot be used.
        """

    def load(self) -> None:
        """Check now that the server and its model can be used.

        Raises:
            ModelUnavailable: they cannot be used.
        """
        self._ready()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order.

        Raises:
            ValueError: a text is empty or only white space.
            ModelUnavailable: the server or its model cannot be used.
        """
        check_texts(texts)
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        return self._embed([self._prompts.document + text for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Return one unit vector, with a separate request.

        Raises:
            ValueError: the text is empty or only white space.
            ModelUnavailable: the server or its model cannot be used.
        """
        check_texts([text])
        vector: Vectors = self._embed([self._prompts.query + text])[0]
        return vector

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text here, because servers do not report them."""
        return [self._count(text) for text in texts]

    @abstractmethod
    def _fetch(self, texts: list[str]) -> Rows:
        """Fetch the vectors of a batch, in order.

        Raises:
            Refused: the server answers with an error status.
            ModelUnavailable: there is no valid answer.
        """

    @abstractmethod
    def _identify(self) -> str:
        """Return an id of the weights behind the model's name; empty if the server has none.

        Raises:
            Refused: the server answers with an error status.
            ModelUnavailable: the model or the server is missing.
        """

    def _ready(self) -> _ServedModel:
        if self._loaded is None:
            identity = self._ask_identity()
            self._loaded = _ServedModel(identity, self._embed_batch(["word"]).shape[1])
        return self._loaded

    def _embed(self, texts: Sequence[str]) -> Vectors:
        loaded = self._ready()
        batches = [self._embed_batch(batch) for batch in split_batches(texts)]
        lengths = {batch.shape[1] for batch in batches}
        if lengths != {loaded.dimensions} or self._ask_identity() != loaded.identity:
            raise ModelUnavailable(
                f"{self._client.where} has another {self._model} now than when this server "
                "started. Vectors of the two must not be mixed: restart and index again."
            )
        return np.concatenate(batches)

    def _embed_batch(self, batch: Sequence[str]) -> Vectors:
        try:
            rows = self._fetch([encodable(text) for text in batch])
        except Refused as refused:
            raise ModelUnavailable(self._explain(refused)) from refused
        return normalize_rows(rows, len(batch), self._client.where)

    def _ask_identity(self) -> str:
        try:
            return self._identify()
        except Refused as refused:
            raise ModelUnavailable(self._explain(refused)) from refused

    def _explain(self, refused: Refused) -> str:
        """Explain an error status and how to fix it."""
        detail = f": {refused.words}" if refused.words else ""
        what = f"{self._client.where} answers {refused.status}{detail}"
        if "does not support embed" in refused.words:
            return self._explain_unfit_model()
        if refused.status == HTTPStatus.TOO_MANY_REQUESTS:
            return f"{what}. It is overloaded or a quota is used up: try again later."
        if refused.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return f"{what}. Check its log and try again."
        if refused.status in _NOT_THESE_TEXTS:
            return f"{what}. If texts are too long for its model, lower DOCVEC_CHUNK_SIZE."
        return f"{what}. Check DOCVEC_HOST and DOCVEC_MODEL."

    def _explain_unfit_model(self) -> str:
        return (
            f"{self._client.where} cannot embed with {self._model}. Set DOCVEC_MODEL to a model "
            "for embeddings."
        )
