"""How batches are calculated: chosen by a trial, noted, and kept."""

import time
from pathlib import Path

import numpy as np
import pytest

from quinion.embed import local
from quinion.embed.local import LocalEmbedder
from quinion.embed.minilm import MiniLM
from quinion.embed.numerics import Numerics, has_openvino, read_note, try_out, write_note
from quinion.embed.port import Vectors
from quinion.embed.weights import prepare
from quinion.errors import BadSetting

TEXTS = [
    "Cycle parking is provided at two spaces for each dwelling.",
    "The flood risk assessment finds that the site lies in zone 1.",
    "Heritage",
    "A longer passage about the oblique Mercator projection, its formulas and its history, " * 12,
]

needs_openvino = pytest.mark.skipif(
    not has_openvino(), reason="OpenVINO is not installed, or the processor has no bfloat16"
)


@pytest.fixture
def model(cache_dir: Path) -> MiniLM:
    return MiniLM(prepare(cache_dir))


@pytest.fixture
def own_cache(cache_dir: Path, tmp_path: Path) -> Path:
    """A folder with the model, and no note in it."""
    folder = prepare(cache_dir).folder
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / folder.name).symlink_to(folder)
    return tmp_path / "models"


class Off:
    """Like the model, but for a little of each number."""

    def __init__(self, model: MiniLM, by: float) -> None:
        self._model, self._by = model, by

    def run(self, batch: list[list[int]]) -> Vectors:
        vectors = self._model.run(batch)
        noise = np.random.default_rng(1).normal(size=vectors.shape).astype(np.float32)
        moved = vectors + self._by * noise / np.sqrt(vectors.shape[1])
        rows: Vectors = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        return rows


class Slow:
    def __init__(self, model: MiniLM) -> None:
        self._model = model

    def run(self, batch: list[list[int]]) -> Vectors:
        time.sleep(0.5)
        return self._model.run(batch)


def test_the_trial_wants_agreement_and_speed(model: MiniLM) -> None:
    assert try_out(Slow(model), Off(model, 0.001))
    assert not try_out(Slow(model), Off(model, 0.1))
    assert not try_out(model, Slow(model))


def test_what_was_chosen_is_noted_and_kept(own_cache: Path) -> None:
    assert read_note(own_cache) is None
    chosen = LocalEmbedder(own_cache, numerics=None).fingerprint.rpartition(":")[2]
    assert read_note(own_cache) == chosen
    for numerics in Numerics:
        write_note(own_cache, numerics)
        assert LocalEmbedder(own_cache, numerics=None).fingerprint.endswith(f":{numerics}")
    assert [path.name for path in own_cache.glob("engine*")] == ["engine.json"]


@pytest.mark.parametrize("note", ["", "{", "[]", '{"numerics": "abacus"}'])
def test_a_note_that_makes_no_sense_is_none(tmp_path: Path, note: str) -> None:
    (tmp_path / "engine.json").write_text(note)
    assert read_note(tmp_path) is None


def test_an_engine_that_is_not_to_be_had_is_said(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_note(own_cache, Numerics.OPENVINO)
    monkeypatch.setattr(local, "has_openvino", lambda: False)
    embedder = LocalEmbedder(own_cache, numerics=None)
    with pytest.raises(BadSetting, match=r"openvino-bf16.*quinion\[fast\]"):
        embedder.embed(TEXTS)
    # What is there can still be searched.
    assert embedder.embed_query("parking").shape == (384,)


def test_a_text_that_occurs_twice_has_one_vector(embedder: LocalEmbedder) -> None:
    once = embedder.embed(TEXTS)
    order = [1, 0, 1, 3, 1, 0]
    np.testing.assert_allclose(
        embedder.embed([TEXTS[place] for place in order]), once[order], atol=1e-6
    )


@needs_openvino
def test_openvino_agrees(own_cache: Path, embedder: LocalEmbedder) -> None:
    other = LocalEmbedder(own_cache, threads=2, numerics=Numerics.OPENVINO)
    vectors = other.embed(TEXTS * 5)
    assert ((vectors * embedder.embed(TEXTS * 5)).sum(1) > 0.9995).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    # Queries are float32, whatever batches are.
    np.testing.assert_array_equal(other.embed_query("parking"), embedder.embed_query("parking"))


@needs_openvino
def test_openvino_on_many_threads(own_cache: Path) -> None:
    embedder = LocalEmbedder(own_cache, threads=4, numerics=Numerics.OPENVINO)
    texts = [f"{n} {TEXTS[n % 4]}" for n in range(200)]
    many = embedder.embed(texts)
    alone = np.concatenate([embedder.embed([text]) for text in texts[:20]])
    assert ((many[:20] * alone).sum(1) > 0.9999).all()
