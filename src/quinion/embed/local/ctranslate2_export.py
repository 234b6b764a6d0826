"""Export of all-MiniLM-L6-v2 to CTranslate2 in eight bits, from the ONNX graph.

The original weights are not needed: they may have been removed.

Importing this module imports `onnx`, CTranslate2's model specs, and PyTorch if it is installed,
so import it only where a model is written.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from ctranslate2.specs import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
    Activation,
    TransformerEncoderModelSpec,
    TransformerEncoderSpec,
)
from numpy.typing import NDArray

from quinion.embed.local.weights import PreparedModel

Array = NDArray[np.float32]

_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12


def write_int8(model: PreparedModel, folder: Path) -> None:
    """Write the network and its vocabulary to an existing folder."""
    spec = _describe(_map_weights(model.graph))
    vocabulary = json.loads(model.tokenizer.read_bytes())["model"]["vocab"]
    spec.register_vocabulary(sorted(vocabulary, key=vocabulary.__getitem__))
    spec.config.layer_norm_epsilon = _EPSILON
    spec.config.unk_token = "[UNK]"  # noqa: S105 - a vocabulary entry, not a secret
    spec.validate()
    spec.optimize(quantization="int8")
    spec.save(str(folder))


def _map_weights(graph: Path) -> dict[str, Array]:
    """Memory-map the weights written by `onnx_export.py`, by name."""
    weights: dict[str, Array] = {}
    for tensor in onnx.load(graph, load_external_data=False).graph.initializer:
        place = {entry.key: entry.value for entry in tensor.external_data}
        if place:
            file, offset = graph.with_name(place["location"]), int(place["offset"])
            shape = tuple(tensor.dims)
            weights[tensor.name] = np.memmap(file, np.float32, "r", offset, shape)
    return weights


def _describe(weights: Mapping[str, Array]) -> Any:
    """Build CTranslate2's spec. The position vectors include the segment vector."""
    encoder = TransformerEncoderSpec(
        _LAYERS, _HEADS, pre_norm=False, activation=Activation.GELU, layernorm_embedding=True
    )
    encoder.scale_embeddings = False
    # Copies, because CTranslate2 quantizes in place.
    encoder.embeddings[0].weight = weights["embeddings.words"].copy()
    encoder.position_encodings.encodings = weights["embeddings.positions"].copy()
    _set_norm(encoder.layernorm_embedding, weights, "embeddings")
    for index, layer in enumerate(encoder.layer):
        attention, forward = f"layer.{index}.attention", f"layer.{index}.feed_forward"
        _set_linear(layer.self_attention.linear[0], weights, f"{attention}.inner")
        _set_linear(layer.self_attention.linear[1], weights, f"{attention}.outer")
        _set_norm(layer.self_attention.layer_norm, weights, attention)
        _set_linear(layer.ffn.linear_0, weights, f"{forward}.inner")
        _set_linear(layer.ffn.linear_1, weights, f"{forward}.outer")
        _set_norm(layer.ffn.layer_norm, weights, forward)
    return TransformerEncoderModelSpec(encoder)


def _set_linear(spec: Any, weights: Mapping[str, Array], name: str) -> None:
    spec.weight = weights[f"{name}.weight"].T.copy()
    spec.bias = weights[f"{name}.bias"].copy()


def _set_norm(spec: Any, weights: Mapping[str, Array], name: str) -> None:
    spec.gamma = weights[f"{name}.norm.scale"].copy()
    spec.beta = weights[f"{name}.norm.shift"].copy()
