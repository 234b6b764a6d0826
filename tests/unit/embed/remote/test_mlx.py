import importlib.util

import pytest

from quinion.embed.remote.mlx import MLXEmbedder
from quinion.errors import ModelUnavailable


@pytest.mark.skipif(
    importlib.util.find_spec("mlx_embeddings") is not None, reason="mlx-embeddings is installed"
)
def test_without_the_package_the_error_names_requirements_and_alternatives() -> None:
    embedder = MLXEmbedder("some/model", len)
    with pytest.raises(ModelUnavailable) as caught:
        embedder.load()
    assert "pip install mlx-embeddings" in caught.value.message
    assert "DOCVEC_BACKEND=local works on every machine" in caught.value.message


def test_tokens_are_counted_without_the_model() -> None:
    assert MLXEmbedder("some/model", len).count_tokens(["four"]) == [4]


def test_a_blank_text_is_refused_before_anything_is_loaded() -> None:
    embedder = MLXEmbedder("some/model", len)
    with pytest.raises(ValueError, match="text 1 of 2 is empty or only white space"):
        embedder.embed(["something", " "])
    with pytest.raises(ValueError, match="empty or only white space"):
        embedder.embed_query("")
