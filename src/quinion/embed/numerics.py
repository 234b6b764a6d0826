"""Which engine runs the local model on batches of texts: chosen once for a home.

Vectors of different numerics are not to be mixed without anybody knowing. So what was chosen is
noted beside the model, is part of the fingerprint that each collection carries, and stays what it
is: another machine, or another installation, that can't do the same says so.

The choice is made by a trial: an engine has to agree with onnxruntime, which is always there, and
to be faster by enough to be worth its memory.
"""

import importlib.util
import json
import logging
import os
import time
from enum import StrEnum
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Protocol

import numpy as np

from quinion.embed.port import Vectors
from quinion.errors import BadSetting

log = logging.getLogger(__name__)

NOTE = "engine.json"
LEAST_AGREEMENT = 0.9995
"""The cosine of the same text's two vectors. bfloat16 has 0.9999, eight bits have 0.99."""
LEAST_GAIN = 1.3
TRIALS = 5
TRIAL_LENGTH = 128
TRIAL_TEXTS = 4


class Numerics(StrEnum):
    """An engine, and how exactly it calculates."""

    ONNX = "onnx-fp32"
    OPENVINO = "openvino-bf16"


class Network(Protocol):
    """Something that runs the network."""

    def run(self, batch: list[list[int]]) -> Vectors:
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


def has_openvino() -> bool:
    """Whether OpenVINO is installed, and this machine's processor is one for it."""
    if importlib.util.find_spec("openvino") is None:
        return False
    from quinion.embed.openvino import has_bfloat16  # noqa: PLC0415 - it imports OpenVINO

    return has_bfloat16()


def try_out(reference: Network, candidate: Network) -> bool:
    """Whether the candidate says the same, and sooner."""
    numbers = np.random.default_rng(1)
    batch = numbers.integers(1000, 20_000, (TRIAL_TEXTS, TRIAL_LENGTH)).tolist()
    agreement = float((reference.run(batch) * candidate.run(batch)).sum(1).min())
    gain = _time(reference, batch) / _time(candidate, batch)
    log.info("trial of an engine: agreement %.6f, %.1f times as fast", agreement, gain)
    return agreement >= LEAST_AGREEMENT and gain >= LEAST_GAIN


def _time(network: Network, batch: list[list[int]]) -> float:
    """Of this thread's processor: others may be at work."""
    times = []
    for _ in range(TRIALS):
        begun = time.perf_counter()
        network.run(batch)
        times.append(time.perf_counter() - begun)
    return min(times)


def unable(numerics: Numerics) -> BadSetting:
    """What is said where the engine that was chosen is not to be had."""
    return BadSetting(
        f"The vectors of this home were made with {numerics}, which this machine can't run. "
        "Install it (pip install 'quinion[fast]'), or use a machine whose processor has bfloat16, "
        "or another QUINION_HOME."
    )
