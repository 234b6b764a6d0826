"""Embedder for Ollama's HTTP API.

`/api/embed` takes a list of texts and truncates each to the model's context; `/api/tags` lists the
installed models with a digest of their files. The digest is checked after each call, because
`ollama pull` may replace a model at any time.
"""

from collections.abc import Callable
from http import HTTPStatus

from pydantic import BaseModel

from quinion.embed.remote.http_embedder import HOST, RemoteEmbedder, Rows, make_service
from quinion.errors import ModelUnavailable
from quinion.http_client import JsonClient, Refused, parse_address

_SERVICE = make_service("Ollama")

_MAX_NAMED = 10


class _Model(BaseModel):
    name: str
    digest: str


class _Tags(BaseModel):
    models: list[_Model] | None


class _Embeddings(BaseModel):
    embeddings: list[list[float] | None]


class OllamaEmbedder(RemoteEmbedder):
    """`Embedder` on Ollama. The model name may have a tag or not."""

    def __init__(
        self, host: str, model: str, timeout_s: float, count: Callable[[str], int]
    ) -> None:
        client = JsonClient(_SERVICE, parse_address(host, HOST), timeout_s)
        super().__init__(client, model.removesuffix(":latest"), count)

    @property
    def fingerprint(self) -> str:
        """Identifies the model, its files and its prompts.

        Raises:
            ModelUnavailable: Ollama or its model cannot be used.
        """
        parts = ("ollama", self._model, self._ready().identity, self._prompts.mark)
        return ":".join(filter(None, parts))

    def _fetch(self, texts: list[str]) -> Rows:
        body = {"model": self._model, "input": texts, "truncate": True}
        answer = self._client.ask("POST", "api/embed", _Embeddings, body)
        rows = [row for row in answer.embeddings if row is not None]
        if len(rows) < len(answer.embeddings):
            # Ollama 0.6 answers this for a model that is not for embeddings.
            raise ModelUnavailable(self._explain_unfit_model())
        return rows

    def _identify(self) -> str:
        models = self._client.ask("GET", "api/tags", _Tags).models or []
        wanted = self._model.casefold()
        for model in models:
            if model.name.removesuffix(":latest").casefold() == wanted:
                return model.digest.removeprefix("sha256:")[:12]
        names = ", ".join(model.name for model in models[:_MAX_NAMED])
        raise ModelUnavailable(self._explain_missing() + (f" It has {names}." if names else ""))

    def _explain(self, refused: Refused) -> str:
        if refused.status == HTTPStatus.NOT_FOUND and "not found" in refused.words:
            return self._explain_missing()
        if refused.status == HTTPStatus.NOT_FOUND:
            return (
                f"{self._client.where} does not answer like Ollama 0.3 or newer. Set DOCVEC_HOST "
                "to its address, or update it."
            )
        if refused.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return (
                f"{self._client.where} answers {refused.status}: a proxy in front of it requires "
                "a login. Set DOCVEC_HOST to http://USER:PASSWORD@HOST."
            )
        return super()._explain(refused)

    def _explain_missing(self) -> str:
        return (
            f"{self._client.where} has no model {self._model}. Get it with `ollama pull "
            f"{self._model}`, or set DOCVEC_MODEL to one that it has."
        )
