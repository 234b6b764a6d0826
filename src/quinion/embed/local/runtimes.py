"""Runtimes of the local embedding model, and the choice stored for a home.

Vectors of different numerics must not be mixed. The chosen runtime is therefore stored beside the
model, is part of each collection's fingerprint, and does not change: a machine or installation
without it refuses to embed. `benchmark.py` makes the choice.
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

CHOICE_FILE = "engine.json"


class Numerics(StrEnum):
    """A runtime and its numeric precision."""

    ONNX = "onnx-fp32"
    CTRANSLATE2 = "ctranslate2-int8"


class Network(Protocol):
    """A loaded network."""

    def run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        """Return one unit row per list of token ids."""
        ...


def read_choice(folder: Path) -> Numerics | None:
    """The runtime stored for this home; None if there is none or it is unknown."""
    try:
        return Numerics(json.loads((folder / CHOICE_FILE).read_text())["numerics"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_choice(folder: Path, numerics: Numerics) -> None:
    """Store the choice atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=folder, prefix="engine-", delete=False) as file:
        json.dump({"numerics": numerics}, file)
    os.replace(file.name, folder / CHOICE_FILE)  # noqa: PTH105


def is_installed(numerics: Numerics) -> bool:
    """Check that the runtime is installed."""
    return numerics is Numerics.ONNX or importlib.util.find_spec("ctranslate2") is not None


def open_network(numerics: Numerics, model: PreparedModel, threads: int) -> Network:
    """Load the model into an installed runtime that runs `threads` batches at once.

    Raises:
        ModelUnavailable: the runtime cannot load the model.
    """
    # Each of these modules imports its runtime.
    match numerics:
        case Numerics.ONNX:
            from quinion.embed.local.onnx_runtime import OnnxRuntime  # noqa: PLC0415

            return OnnxRuntime(model.graph)
        case Numerics.CTRANSLATE2:
            from quinion.embed.local.ctranslate2_runtime import CTranslate2  # noqa: PLC0415

            return CTranslate2(model, threads)


def not_installed(numerics: Numerics) -> BadSetting:
    """The error for a home whose runtime is not installed."""
    return BadSetting(
        f"The vectors of this home were made with {numerics}, which this machine can't run. "
        "Install it (pip install 'ctranslate2>=4.8,<5'), or use another QUINION_HOME."
    )
