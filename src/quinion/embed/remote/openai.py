"""Embedder for OpenAI's API, which vLLM, LM Studio, llama.cpp and others also serve.

The API does not identify the weights. The fingerprint is the model's name and the length of its
vectors, so other weights under the same name are not detected.
"""

from collections.abc import Callable
from http import HTTPStatus

from pydantic import BaseModel, SecretStr

from quinion.embed.remote.http_embedder import HOST, RemoteEmbedder, Rows, make_service
from quinion.errors import ModelUnavailable
from quinion.http_client import JsonClient, Refused, complete_openai, parse_address

_SERVICE = make_service("The embedding server")


class _Embedding(BaseModel):
    index: int
    embedding: list[float]


class _Embeddings(BaseModel):
    data: list[_Embedding]


class OpenAIEmbedder(RemoteEmbedder):
    """`Embedder` on a server with OpenAI's API.

    `base_url` is the address without `/embeddings`; a bare host means `/v1`.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: SecretStr | None,
        timeout_s: float,
        count: Callable[[str], int],
    ) -> None:
        address = complete_openai(parse_address(base_url, HOST), "embeddings")
        client = JsonClient(_SERVICE, address, timeout_s, api_key)
        super().__init__(client, model, count)

    @property
    def fingerprint(self) -> str:
        """Identifies the model's name, the length of its vectors and its prompts.

        Raises:
            ModelUnavailable: the server or its model cannot be used.
        """
        parts = ("openai", self._model, str(self.dimensions), self._prompts.mark)
        return ":".join(filter(None, parts))

    def _fetch(self, texts: list[str]) -> Rows:
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        answer = self._client.ask("POST", "embeddings", _Embeddings, body)
        items = sorted(answer.data, key=lambda item: item.index)
        if [item.index for item in items] != list(range(len(items))):
            raise ModelUnavailable(
                f"{self._client.where} does not say which vector is which text's. Use another "
                "server: this one does not follow the API."
            )
        return [item.embedding for item in items]

    def _identify(self) -> str:
        return ""

    def _explain(self, refused: Refused) -> str:
        if refused.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return (
                f"{self._client.where} answers {refused.status}: it does not accept the key. Set "
                "DOCVEC_API_KEY to one that may embed with it."
            )
        return super()._explain(refused)
