import pytest
from pydantic import SecretStr

from quinion.embed.base import Embedder
from quinion.embed.factory import MLX_MODEL, Backend, make_embedder
from quinion.embed.prompts import Prompts, find_prompts
from quinion.embed.remote.mlx import MLXEmbedder
from quinion.embed.remote.ollama import OllamaEmbedder
from quinion.embed.remote.openai import OpenAIEmbedder
from quinion.errors import BadSetting
from tests.ollama_server import MODEL, ollama_server


def make(backend: Backend, host: str | None = None, model: str | None = None) -> Embedder:
    return make_embedder(
        backend, host=host, model=model, api_key=SecretStr("k"), timeout_s=20, count=len
    )


def test_the_backends_are_those_of_the_setting() -> None:
    assert list(Backend) == ["ollama", "openai", "mlx"]


def test_each_backend_has_its_embedder() -> None:
    with ollama_server() as server:
        ollama = make(Backend.OLLAMA, server.url)
        openai = make(Backend.OPENAI, server.url, MODEL)
        assert isinstance(ollama, OllamaEmbedder)
        assert isinstance(openai, OpenAIEmbedder)
        assert isinstance(make(Backend.MLX), MLXEmbedder)
        for embedder in (ollama, openai):
            assert embedder.embed_query("hello").shape == (256,)
            assert embedder.count_tokens(["four"]) == [4]
        by_path = {request.path: request.headers for request in server.requests}
        assert by_path["/v1/embeddings"]["Authorization"] == "Bearer k"
        assert "Authorization" not in by_path["/api/embed"]


def test_ollama_defaults_to_this_machine_and_nomic_embed_text() -> None:
    with ollama_server() as server:
        assert make(Backend.OLLAMA, server.url).fingerprint.startswith("ollama:nomic-embed-text:")
    embedder = make(Backend.OLLAMA)
    assert isinstance(embedder, OllamaEmbedder)
    assert embedder._client.where == "Ollama at http://localhost:11434"


def test_the_default_for_mlx_wants_no_prompts_so_that_it_is_like_the_local_model() -> None:
    assert MLX_MODEL.startswith("mlx-community/all-MiniLM-L6-v2")
    assert find_prompts(MLX_MODEL) == Prompts()


@pytest.mark.parametrize(
    ("host", "model", "missing"),
    [(None, "m", "DOCVEC_HOST"), ("http://h", None, "DOCVEC_MODEL"), ("", "", "DOCVEC_HOST")],
)
def test_openai_needs_an_address_and_a_model(
    host: str | None, model: str | None, missing: str
) -> None:
    with pytest.raises(BadSetting, match=f"^DOCVEC_BACKEND=openai needs {missing}"):
        make(Backend.OPENAI, host, model)
