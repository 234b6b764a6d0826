import json
import logging
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event

import numpy as np
import pytest

from quinion.embed import Embedder, LocalEmbedder, Vectors
from quinion.embed.local import embedder as local_embedder
from quinion.embed.local.onnx_runtime import OnnxRuntime
from quinion.embed.local.runtimes import Numerics
from quinion.embed.local.weights import PreparedModel
from quinion.embed.truncated import Truncated

REFERENCE = json.loads(
    Path(__file__).parents[1].joinpath("reference.json").read_text(encoding="utf-8")
)
NAMES = [entry["name"] for entry in REFERENCE["texts"]]
TEXTS = [entry["text"] for entry in REFERENCE["texts"]]
VECTORS = np.array([entry["vector"] for entry in REFERENCE["texts"]], np.float32)


def cosines(left: Vectors, right: Vectors) -> Vectors:
    products: Vectors = np.sum(left * right, axis=-1)
    return products


def test_it_is_an_embedder(embedder: LocalEmbedder) -> None:
    port: Embedder = embedder
    assert port.dimensions == 384
    assert port.fingerprint == "all-MiniLM-L6-v2:53aa5117:onnx-fp32"


@pytest.mark.parametrize(("text", "expected"), list(zip(TEXTS, VECTORS, strict=True)), ids=NAMES)
def test_a_vector_is_that_of_sentence_transformers(
    embedder: LocalEmbedder, text: str, expected: Vectors
) -> None:
    vector = embedder.embed_query(text)
    assert cosines(vector, expected) > 0.99999
    np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_one_of_the_reference_texts_is_cut_by_tokens_and_not_by_characters(
    embedder: LocalEmbedder,
) -> None:
    text = TEXTS[NAMES.index("over 256 tokens")]
    assert len(text) <= 1024
    assert embedder.count_tokens([text])[0] > 256


def test_a_batch_gives_each_text_its_own_vector_in_order(embedder: LocalEmbedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, VECTORS, atol=1e-5)


def test_a_batch_of_mixed_lengths_equals_single_calls(embedder: LocalEmbedder) -> None:
    texts = [" ".join(["word", *"abcdefgh"] * count) for count in (1, 20, 3, 25, 2, 9, 1, 14)]
    singly = np.stack([embedder.embed_query(text) for text in texts])
    np.testing.assert_allclose(embedder.embed(texts), singly, atol=1e-5)


def test_vectors_have_unit_length(embedder: LocalEmbedder) -> None:
    lengths = np.linalg.norm(embedder.embed(TEXTS), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-5)


def test_no_texts_give_no_vectors(embedder: LocalEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


@pytest.mark.parametrize("blank", ["", " ", "\n\t\u00a0"])
def test_a_blank_text_is_refused(embedder: LocalEmbedder, blank: str) -> None:
    with pytest.raises(ValueError, match="text 1 of 2 is empty or only white space"):
        embedder.embed(["something", blank])
    with pytest.raises(ValueError, match="empty or only white space"):
        embedder.embed_query(blank)


@pytest.mark.parametrize("text", ["\u200b", "\x00", "a lone \ud800 surrogate"])
def test_text_of_damaged_files_gets_a_vector(embedder: LocalEmbedder, text: str) -> None:
    assert np.linalg.norm(embedder.embed_query(text)) == pytest.approx(1)
    assert embedder.count_tokens([text])[0] >= 0


def test_texts_over_1024_characters_are_truncated_with_one_warning(
    embedder: LocalEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    long = "considerations " * 100
    with caplog.at_level(logging.WARNING):
        vectors = Truncated(embedder).embed([long, "short", long + "and more"])
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == ("Truncated to 1024 characters before embedding: 2 of 3 texts")
    np.testing.assert_allclose(vectors[0], embedder.embed_query(long[:1024]), atol=1e-5)
    np.testing.assert_allclose(vectors[2], vectors[0], atol=1e-5)


def test_a_text_of_1024_characters_is_not_warned_about(
    embedder: LocalEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    Truncated(embedder).embed(["a" * 1024])
    assert caplog.records == []


def test_tokens_are_counted_as_the_text_has_them_without_truncation(
    embedder: LocalEmbedder,
) -> None:
    texts = ["house", "housing need", "", "word " * 1000, "tokenization"]
    assert embedder.count_tokens(texts) == [1, 2, 0, 1000, 2]


def test_many_threads_can_load_and_embed_at_once(cache_dir: Path, prepared: PreparedModel) -> None:
    embedder = LocalEmbedder(cache_dir)
    together = Barrier(8)

    def embed(_: int) -> Vectors:
        together.wait()
        return embedder.embed(TEXTS)

    with ThreadPoolExecutor(8) as pool:
        for vectors in pool.map(embed, range(8)):
            np.testing.assert_allclose(vectors, VECTORS, atol=1e-5)


def count_runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the number of texts of each network run."""
    counts: list[int] = []

    def run(self: OnnxRuntime, batch: Sequence[Sequence[int]]) -> Vectors:
        counts.append(len(batch))
        return original(self, batch)

    original = OnnxRuntime.run
    monkeypatch.setattr(OnnxRuntime, "run", run)
    return counts


def test_a_text_that_was_met_lately_is_not_embedded_again(
    cache_dir: Path, prepared: PreparedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = count_runs(monkeypatch)
    embedder = LocalEmbedder(cache_dir)
    first = embedder.embed(TEXTS)
    assert sum(counts) == len(set(TEXTS))
    again = embedder.embed([*TEXTS, "something new", *TEXTS])
    assert sum(counts) == len(set(TEXTS)) + 1
    np.testing.assert_array_equal(again[: len(TEXTS)], first)
    np.testing.assert_array_equal(again[-len(TEXTS) :], first)


def test_a_query_that_is_repeated_is_not_embedded_again(
    cache_dir: Path, prepared: PreparedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = count_runs(monkeypatch)
    embedder = LocalEmbedder(cache_dir)
    vectors = [embedder.embed_query(text) for text in (TEXTS[0], TEXTS[1], TEXTS[0])]
    assert counts == [1, 1]
    np.testing.assert_array_equal(vectors[0], vectors[2])
    np.testing.assert_allclose(vectors, VECTORS[[0, 1, 0]], atol=1e-5)


def test_a_query_does_not_wait_until_an_engine_has_been_chosen(
    cache_dir: Path, prepared: PreparedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / prepared.folder.name).symlink_to(prepared.folder)
    embedder = LocalEmbedder(tmp_path, numerics=None)
    choosing, answered = Event(), Event()

    def wait(*_: object) -> Numerics:
        choosing.set()
        assert answered.wait(60)
        return Numerics.ONNX

    monkeypatch.setattr(local_embedder, "choose_runtime", wait)
    with ThreadPoolExecutor(1) as pool:
        fingerprint = pool.submit(lambda: embedder.fingerprint)
        assert choosing.wait(60)
        assert embedder.embed_query("parking").shape == (384,)
        assert not fingerprint.done()
        answered.set()
        assert fingerprint.result(60).endswith(":onnx-fp32")


def test_nothing_is_loaded_before_the_first_text_and_onnx_not_even_then(
    cache_dir: Path, prepared: PreparedModel
) -> None:
    script = f"""
import sys
from pathlib import Path
from quinion.embed import LocalEmbedder
loaded = lambda: [name for name in ("onnx", "onnxruntime", "tokenizers") if name in sys.modules]
embedder = LocalEmbedder(Path({str(cache_dir)!r}))
print(loaded())
embedder.embed(["now"])
print(loaded())
"""
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[]", "['onnxruntime', 'tokenizers']"]
    assert run.stderr == ""


def test_batches_have_low_priority_and_the_model_is_frozen_for_garbage_collection(
    cache_dir: Path, prepared: PreparedModel
) -> None:
    script = f"""
import gc
from pathlib import Path
from threading import get_native_id
from quinion.embed import LocalEmbedder

def nice(task):
    return int(Path(task, "stat").read_text().rpartition(")")[2].split()[16])

embedder = LocalEmbedder(Path({str(cache_dir)!r}))
embedder.embed(["now"])
tasks = Path("/proc/self/task")
print(nice(tasks / str(get_native_id())), max(map(nice, tasks.iterdir())))
print(gc.get_freeze_count() > 10 * len(gc.get_objects()))
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["0 5", "True"]
