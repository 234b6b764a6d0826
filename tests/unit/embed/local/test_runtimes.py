"""How batches are calculated: chosen by a trial, noted, and kept."""

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from quinion.embed.base import Vectors
from quinion.embed.local import benchmark
from quinion.embed.local import embedder as local_embedder
from quinion.embed.local.benchmark import (
    MIN_COSINE,
    Measurement,
    choose_runtime,
    measure,
    measure_in_process,
    speedup,
)
from quinion.embed.local.embedder import LocalEmbedder
from quinion.embed.local.onnx_runtime import OnnxRuntime
from quinion.embed.local.runtimes import (
    Numerics,
    is_installed,
    open_network,
    read_choice,
    write_choice,
)
from quinion.embed.local.weights import prepare
from quinion.errors import BadSetting

TEXTS = [
    "Cycle parking is provided at two spaces for each dwelling.",
    "The flood risk assessment finds that the site lies in zone 1.",
    "Heritage",
    "A longer passage about the oblique Mercator projection, its formulas and its history, " * 12,
]

FASTER = [
    pytest.param(
        numerics,
        marks=pytest.mark.skipif(
            not is_installed(numerics),
            reason=f"{numerics} is not installed",
        ),
    )
    for numerics in MIN_COSINE
]


@pytest.fixture
def model(cache_dir: Path) -> OnnxRuntime:
    return OnnxRuntime(prepare(cache_dir).graph)


@pytest.fixture
def own_cache(cache_dir: Path, tmp_path: Path) -> Path:
    """A folder with the model, and no note in it."""
    folder = prepare(cache_dir).folder
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / folder.name).symlink_to(folder)
    return tmp_path / "models"


class Off:
    """Like the model, but for a little of each number."""

    def __init__(self, model: OnnxRuntime, by: float) -> None:
        self._model, self._by = model, by

    def run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        vectors = self._model.run(batch)
        noise = np.random.default_rng(1).normal(size=vectors.shape).astype(np.float32)
        moved = vectors + self._by * noise / np.sqrt(vectors.shape[1])
        rows: Vectors = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        return rows


class Slow:
    """Does everything thrice."""

    def __init__(self, model: OnnxRuntime) -> None:
        self._model = model

    def run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        return [self._model.run(batch) for _ in range(3)][-1]


@pytest.mark.parametrize(("numerics", "least"), list(MIN_COSINE.items()))
def test_the_trial_wants_agreement_and_speed(
    model: OnnxRuntime, monkeypatch: pytest.MonkeyPatch, numerics: Numerics, least: float
) -> None:
    monkeypatch.setattr("quinion.embed.local.benchmark.TRIALS", 2)
    # Moved by a part of its length, a vector has a cosine of 1 less half of that part's square.
    most = (2 * (1 - least)) ** 0.5
    slow, reference = measure(Slow(model)), measure(model)
    assert speedup(numerics, slow, measure(Off(model, 0.8 * most))) > 1
    assert speedup(numerics, slow, measure(Off(model, 1.5 * most))) == 0
    assert 0 < speedup(numerics, reference, slow) < 1


@pytest.mark.parametrize("numerics", [Numerics.ONNX, *FASTER])
def test_an_engine_is_measured_apart_as_it_would_be_here(
    own_cache: Path, numerics: Numerics
) -> None:
    prepared = prepare(own_cache)
    measured = measure_in_process(numerics, prepared, 2)
    # Not the reference: how well an engine agrees with that depends on the processor.
    here = measure(open_network(numerics, prepared, 2))
    assert ((measured.vectors * here.vectors).sum(1) > 0.99999).all()
    assert measured.time_s > 0


@pytest.mark.parametrize(
    ("times", "chosen"),
    [
        ({}, Numerics.ONNX),
        ({Numerics.CTRANSLATE2: 0.8}, Numerics.ONNX),
        ({Numerics.CTRANSLATE2: 0.7}, Numerics.CTRANSLATE2),
    ],
)
def test_the_first_that_is_fast_enough_is_chosen(
    own_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    times: dict[Numerics, float],
    chosen: Numerics,
) -> None:
    def measure_in_process(numerics: Numerics, *_: object) -> Measurement:
        return Measurement(np.eye(4, 384, dtype=np.float32), times.get(numerics, 1.0))

    monkeypatch.setattr(benchmark, "is_installed", lambda numerics: numerics in times)
    monkeypatch.setattr(benchmark, "measure_in_process", measure_in_process)
    assert choose_runtime(own_cache, None, 1) is chosen


@pytest.mark.parametrize("python", ["/bin/false", "/nowhere/python", "/bin/echo"])
def test_a_trial_that_fails_leaves_what_is_always_there(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    monkeypatch.setattr(benchmark, "is_installed", lambda _: True)
    monkeypatch.setattr(sys, "executable", python)
    assert choose_runtime(own_cache, None, 1) is Numerics.ONNX


@pytest.mark.slow
def test_what_was_chosen_is_noted_and_kept(own_cache: Path) -> None:
    assert read_choice(own_cache) is None
    chosen = LocalEmbedder(own_cache, numerics=None).fingerprint.rpartition(":")[2]
    assert read_choice(own_cache) == chosen
    for numerics in Numerics:
        write_choice(own_cache, numerics)
        assert LocalEmbedder(own_cache, numerics=None).fingerprint.endswith(f":{numerics}")
    assert [path.name for path in own_cache.glob("engine*")] == ["engine.json"]


@pytest.mark.parametrize("note", ["", "{", "[]", '{"numerics": "openvino-bf16"}'])
def test_a_note_that_makes_no_sense_is_none(tmp_path: Path, note: str) -> None:
    (tmp_path / "engine.json").write_text(note)
    assert read_choice(tmp_path) is None


@pytest.mark.parametrize("numerics", MIN_COSINE)
def test_an_engine_that_is_not_to_be_had_is_said(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, numerics: Numerics
) -> None:
    write_choice(own_cache, numerics)
    monkeypatch.setattr(local_embedder, "is_installed", lambda _: False)
    embedder = LocalEmbedder(own_cache, numerics=None)
    with pytest.raises(BadSetting, match=f"{numerics}.*pip install"):
        embedder.embed(TEXTS)
    # What is there can still be searched.
    assert embedder.embed_query("parking").shape == (384,)


def test_a_text_that_occurs_twice_has_one_vector(embedder: LocalEmbedder) -> None:
    once = embedder.embed(TEXTS)
    order = [1, 0, 1, 3, 1, 0]
    np.testing.assert_allclose(
        embedder.embed([TEXTS[place] for place in order]), once[order], atol=1e-6
    )


@pytest.mark.parametrize("numerics", FASTER)
def test_a_faster_engine_agrees(
    own_cache: Path, embedder: LocalEmbedder, numerics: Numerics
) -> None:
    other = LocalEmbedder(own_cache, threads=2, numerics=numerics)
    vectors = other.embed(TEXTS)
    assert ((vectors * embedder.embed(TEXTS)).sum(1) > MIN_COSINE[numerics]).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


@pytest.mark.parametrize("numerics", MIN_COSINE)
def test_queries_are_light_where_batches_are_not_exact(
    own_cache: Path, embedder: LocalEmbedder, numerics: Numerics
) -> None:
    write_choice(own_cache, numerics)
    noted, given = (LocalEmbedder(own_cache, numerics=n) for n in (None, numerics))
    for text in TEXTS:
        exact, light = embedder.embed_query(text), noted.embed_query(text)
        assert 0.998 < exact @ light < 0.9999
        assert np.linalg.norm(light) == pytest.approx(1, abs=1e-5)
        np.testing.assert_array_equal(light, given.embed_query(text))


def test_queries_are_exact_where_batches_are(own_cache: Path, embedder: LocalEmbedder) -> None:
    write_choice(own_cache, Numerics.ONNX)
    noted = LocalEmbedder(own_cache, numerics=None)
    np.testing.assert_array_equal(noted.embed_query("parking"), embedder.embed_query("parking"))


@pytest.mark.parametrize("numerics", FASTER)
def test_a_faster_engine_on_many_threads(own_cache: Path, numerics: Numerics) -> None:
    texts = [f"{n} {TEXTS[n % 4]}" for n in range(200)]
    many = LocalEmbedder(own_cache, threads=4, numerics=numerics).embed(texts)
    singly = LocalEmbedder(own_cache, threads=4, numerics=numerics)
    alone = np.concatenate([singly.embed([text]) for text in texts[:20]])
    # In eight bits, a text's vector depends a little on those that it was embedded with.
    assert ((many[:20] * alone).sum(1) > MIN_COSINE[numerics]).all()


FIRST_USE = """
import sys
from pathlib import Path
from threading import Barrier, Thread
from quinion.embed.local.runtimes import Numerics, open_network
from quinion.embed.local.weights import prepare

sys.setswitchinterval(1e-6)
network = open_network(Numerics(sys.argv[2]), prepare(Path(sys.argv[1])), 4)
together = Barrier(4)

def run():
    together.wait()
    network.run([[101, 2000, 102]])

threads = [Thread(target=run, daemon=True) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("all have ended")
"""


@pytest.mark.parametrize("numerics", FASTER)
@pytest.mark.parametrize("attempt", [1, 2, 3])  # what is looked for happens in one of three
def test_the_first_texts_may_come_from_many_threads(
    own_cache: Path, numerics: Numerics, attempt: int
) -> None:
    command = [sys.executable, "-c", FIRST_USE, str(own_cache), numerics]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.stdout == "all have ended\n", run.stderr


@pytest.mark.parametrize("numerics", FASTER)
def test_two_embedders_may_begin_at_once(own_cache: Path, numerics: Numerics) -> None:
    together = Barrier(2)

    def embed(_: int) -> Vectors:
        embedder = LocalEmbedder(own_cache, threads=2, numerics=numerics)
        together.wait()
        return embedder.embed(TEXTS)

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(embed, range(2))
    np.testing.assert_array_equal(one, other)
