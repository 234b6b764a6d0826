"""Which engine runs the local model on batches of texts: chosen once for a home.

Vectors of different numerics are not to be mixed without anybody knowing. So what was chosen is
noted beside the model, is part of the fingerprint that each collection carries, and stays what it
is: another machine, or another installation, that can't do the same says so.

The choice is made by a trial, and the fastest wins. An engine has to agree with onnxruntime, which
is always there, as well as it does where it was shown that judged queries find the same with it
(`bench/judged.py`), and to be faster by enough to be worth its memory.
"""

import importlib.util
import json
import logging
import os
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Protocol

import numpy as np

from quinion.embed.port import Vectors
from quinion.embed.weights import PreparedModel
from quinion.errors import BadSetting

log = logging.getLogger(__name__)

NOTE = "engine.json"
LEAST_GAIN = 1.3
TRIALS = 5
TRIAL_LENGTH = 128
TRIAL_TEXTS = 4


class Numerics(StrEnum):
    """An engine, and how exactly it calculates."""

    ONNX = "onnx-fp32"
    OPENVINO = "openvino-bf16"
    CTRANSLATE2 = "ctranslate2-int8"


LEAST_AGREEMENT = {Numerics.CTRANSLATE2: 0.99, Numerics.OPENVINO: 0.9995}
"""The cosine of the same text's two vectors, of the engines that may be chosen, in the order in
which they are tried: what CTranslate2 takes to convert the model comes not on top of OpenVINO."""


class Network(Protocol):
    """Something that runs the network."""

    def run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        """One unit row per list of ids."""
        ...


def read_note(folder: Path) -> Numerics | None:
    """What was chosen for this home."""
    try:
        return Numerics(json.loads((folder / NOTE).read_text())["numerics"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_note(folder: Path, numerics: Numerics) -> None:
    """Note what was chosen, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=folder, prefix="engine-", delete=False) as file:
        json.dump({"numerics": numerics}, file)
    os.replace(file.name, folder / NOTE)  # noqa: PTH105


def is_there(numerics: Numerics) -> bool:
    """Whether the engine is installed, and this machine's processor is one for it."""
    if numerics is Numerics.ONNX:
        return True
    if importlib.util.find_spec(numerics.partition("-")[0]) is None:
        return False
    if numerics is Numerics.CTRANSLATE2:
        return True
    from quinion.embed.openvino import has_bfloat16  # noqa: PLC0415 - it imports OpenVINO

    return has_bfloat16()


def open_network(numerics: Numerics, model: PreparedModel, threads: int) -> Network:
    """An engine that is there, ready to run `threads` batches at once.

    Raises:
        ModelUnavailable: it cannot load the model.
    """
    # Each of these modules imports its engine.
    match numerics:
        case Numerics.ONNX:
            from quinion.embed.minilm import MiniLM  # noqa: PLC0415

            return MiniLM(model)
        case Numerics.OPENVINO:
            from quinion.embed.openvino import OpenVino  # noqa: PLC0415

            return OpenVino(model.graph, threads)
        case Numerics.CTRANSLATE2:
            from quinion.embed.ctranslate2 import CTranslate2  # noqa: PLC0415

            return CTranslate2(model, threads)


class Trial:
    """A batch that the reference has run, for others to be compared by."""

    def __init__(self, reference: Network) -> None:
        numbers = np.random.default_rng(1)
        self._batch = numbers.integers(1000, 20_000, (TRIAL_TEXTS, TRIAL_LENGTH)).tolist()
        self._vectors = reference.run(self._batch)
        self._time_s = _time(reference, self._batch)

    def gain(self, numerics: Numerics, candidate: Network) -> float:
        """How many times as fast the candidate is; 0 where it does not say the same."""
        agreement = float((self._vectors * candidate.run(self._batch)).sum(1).min())
        gain = self._time_s / _time(candidate, self._batch)
        log.info("trial of %s: agreement %.6f, %.1f times as fast", numerics, agreement, gain)
        return gain if agreement >= LEAST_AGREEMENT[numerics] else 0.0


def _time(network: Network, batch: list[list[int]]) -> float:
    """Of the processor, not of the clock: other processes may be at work, and all cores will be."""
    times = []
    for _ in range(TRIALS):
        begun = time.process_time()
        network.run(batch)
        times.append(time.process_time() - begun)
    return min(times)


def unable(numerics: Numerics) -> BadSetting:
    """What is said where the engine that was chosen is not to be had."""
    return BadSetting(
        f"The vectors of this home were made with {numerics}, which this machine can't run. "
        "Install it (pip install 'quinion[fast]'), or use a machine that can (openvino-bf16 needs "
        "a processor with bfloat16), or another QUINION_HOME."
    )
