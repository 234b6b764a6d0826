"""Which engine runs the local model on batches of texts: chosen once for a home.

Vectors of different numerics are not to be mixed without anybody knowing. So what was chosen is
noted beside the model, is part of the fingerprint that each collection carries, and stays what it
is: another machine, or another installation, that can't do the same says so. `trial.py` chooses.
"""

import importlib.util
import json
import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Protocol

from quinion.embed.base import Vectors
from quinion.embed.local.weights import PreparedModel
from quinion.errors import BadSetting

NOTE = "engine.json"


class Numerics(StrEnum):
    """An engine, and how exactly it calculates."""

    ONNX = "onnx-fp32"
    CTRANSLATE2 = "ctranslate2-int8"


class Network(Protocol):
    """Something that runs the network."""

    def run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        """One unit row per list of ids."""
        ...


def read_choice(folder: Path) -> Numerics | None:
    """What was chosen for this home."""
    try:
        return Numerics(json.loads((folder / NOTE).read_text())["numerics"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_choice(folder: Path, numerics: Numerics) -> None:
    """Note what was chosen, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=folder, prefix="engine-", delete=False) as file:
        json.dump({"numerics": numerics}, file)
    os.replace(file.name, folder / NOTE)  # noqa: PTH105


def is_installed(numerics: Numerics) -> bool:
    """Whether the engine is installed."""
    return numerics is Numerics.ONNX or importlib.util.find_spec("ctranslate2") is not None


def open_network(numerics: Numerics, model: PreparedModel, threads: int) -> Network:
    """An engine that is there, ready to run `threads` batches at once.

    Raises:
        ModelUnavailable: it cannot load the model.
    """
    # Each of these modules imports its engine.
    match numerics:
        case Numerics.ONNX:
            from quinion.embed.local.onnx_runtime import OnnxRuntime  # noqa: PLC0415

            return OnnxRuntime(model.graph)
        case Numerics.CTRANSLATE2:
            from quinion.embed.local.ctranslate2_runtime import CTranslate2  # noqa: PLC0415

            return CTranslate2(model, threads)


def not_installed(numerics: Numerics) -> BadSetting:
    """What is said where the engine that was chosen is not to be had."""
    return BadSetting(
        f"The vectors of this home were made with {numerics}, which this machine can't run. "
        "Install it (pip install 'quinion[fast]'), or use another QUINION_HOME."
    )
