"""Embedding backends besides the local model, with their defaults."""

from collections.abc import Callable
from enum import StrEnum

from pydantic import SecretStr

from quinion.embed.base import Embedder
from quinion.embed.remote.mlx import MLXEmbedder
from quinion.embed.remote.ollama import OllamaEmbedder
from quinion.embed.remote.openai import OpenAIEmbedder
from quinion.errors import BadSetting

OLLAMA_HOST = "http://localhost:11434"
OLLAMA_MODEL = "nomic-embed-text"
MLX_MODEL = "mlx-community/all-MiniLM-L6-v2-bf16"


class Backend(StrEnum):
    """A backend that replaces the local model."""

    OLLAMA = "ollama"
    OPENAI = "openai"
    MLX = "mlx"


def make_embedder(
    backend: Backend,
    *,
    host: str | None,
    model: str | None,
    api_key: SecretStr | None,
    timeout_s: float,
    count: Callable[[str], int],
) -> Embedder:
    """Build the backend's embedder, with defaults for what is not given. Loads nothing yet.

    Raises:
        BadSetting: a setting without a default is missing, or a setting is invalid.
    """
    match backend:
        case Backend.OLLAMA:
            return OllamaEmbedder(host or OLLAMA_HOST, model or OLLAMA_MODEL, timeout_s, count)
        case Backend.OPENAI:
            url = _require("DOCVEC_HOST", host)
            return OpenAIEmbedder(url, _require("DOCVEC_MODEL", model), api_key, timeout_s, count)
        case Backend.MLX:
            return MLXEmbedder(model or MLX_MODEL, count)


def _require(variable: str, value: str | None) -> str:
    if not value:
        raise BadSetting(
            f"DOCVEC_BACKEND=openai needs {variable}. Set it and restart: DOCVEC_HOST is the "
            "server's address (http://localhost:8000/v1), DOCVEC_MODEL the name of its model."
        )
    return value
