"""MLX adapter with the real package, if it is installed.

`pip install mlx-embeddings` installs it on a Mac, and with `mlx[cpu]` also on Linux. There it runs
on the CPU and takes seconds per page, so the texts here are short. It uses the weights of the local
model, so the same reference applies.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from quinion.embed import Embedder
from quinion.embed.local.weights import find_model
from quinion.embed.remote.mlx import MLXEmbedder
from quinion.errors import ModelUnavailable

pytest.importorskip("mlx_embeddings", reason="mlx-embeddings is not installed")

REFERENCE = json.loads(Path(__file__).with_name("reference.json").read_text(encoding="utf-8"))
SHORT = [entry for entry in REFERENCE["texts"] if len(entry["text"]) < 100]
TEXTS = [entry["text"] for entry in SHORT]
VECTORS = np.array([entry["vector"] for entry in SHORT], np.float32)


@pytest.fixture(scope="module")
def embedder() -> MLXEmbedder:
    return MLXEmbedder(str(find_model()), len)


def test_it_is_an_embedder(embedder: MLXEmbedder) -> None:
    port: Embedder = embedder
    assert port.dimensions == 384
    assert port.embed([]).shape == (0, 384)
    assert port.fingerprint.startswith("mlx:model:")


def test_a_vector_is_that_of_sentence_transformers(embedder: MLXEmbedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, VECTORS, atol=1e-5)
    np.testing.assert_allclose(embedder.embed_query(TEXTS[1]), VECTORS[1], atol=1e-5)


def test_many_texts_go_in_pieces_and_come_back_in_order(embedder: MLXEmbedder) -> None:
    texts = [f"number {number}" for number in range(40)]
    singly = np.stack([embedder.embed_query(text) for text in texts])
    np.testing.assert_allclose(embedder.embed(texts), singly, atol=1e-5)


@pytest.mark.parametrize("text", ["\u200b", "\x00", "a lone \ud800 surrogate", "word " * 5000])
def test_text_of_damaged_files_gets_a_vector(embedder: MLXEmbedder, text: str) -> None:
    assert np.linalg.norm(embedder.embed_query(text)) == pytest.approx(1)


def test_many_threads_can_load_embed_and_search_at_once() -> None:
    embedder = MLXEmbedder(str(find_model()), len)
    with ThreadPoolExecutor(8) as pool:
        queries = pool.map(embedder.embed_query, TEXTS)
        batches = pool.map(embedder.embed, [TEXTS] * 4)
        np.testing.assert_allclose(np.stack(list(queries)), VECTORS, atol=1e-5)
        for vectors in batches:
            np.testing.assert_allclose(vectors, VECTORS, atol=1e-5)


def test_a_query_waits_for_one_piece_of_a_batch_at_most(embedder: MLXEmbedder) -> None:
    embedder.load()
    with ThreadPoolExecutor(1) as pool:
        batch = pool.submit(embedder.embed, ["word"] * 160)
        embedder.embed_query("first")
        assert not batch.done()
        batch.result()


def test_a_folder_without_a_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"MLX cannot load the model .* Set DOCVEC_MODEL"):
        MLXEmbedder(str(tmp_path), len).load()


def test_a_failed_model_download_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelUnavailable, match=r"MLX cannot load the model no/such: .* Set"):
        MLXEmbedder("no/such", len).load()
