"""Writes all-MiniLM-L6-v2 as an ONNX graph, from its original weights.

The published weights are a `model.safetensors`, which is usually run with PyTorch: six seconds
of start-up and half a gigabyte for a model of 23 million parameters. The network is small enough
to be written down here, with `onnx` and numpy alone:

    tokens, mask → embeddings → 6 × (attention → feed-forward) → mean over the mask → unit length

The operators are onnxruntime's own fused ones (domain `com.microsoft`), which its optimiser would
otherwise have to find in an exported graph.

The weights go to a file of their own. onnxruntime maps that file instead of reading it, so the
table of words, half of the model, takes memory only for the words that are met: 111 MB after
loading, against 179 MB with everything in one file.

Importing this module imports `onnx`, so it is imported only where a graph has to be written.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, StringStringEntryProto, TensorProto, helper

Array = NDArray[np.float32]
Attribute = int | float

_LAYERS = 6
_HEADS = 12
_DIMENSIONS = 384
_EPSILON = 1e-12

_STANDARD = ""
_FUSED = "com.microsoft"
_OPSETS = {_STANDARD: 17, _FUSED: 1}
_IR_VERSION = 8  # the one that opset 17 came with
_PAGE_SIZE = 4096  # what the ONNX format asks data that is to be mapped to be aligned to


def write_graph(safetensors: Path, destination: Path) -> None:
    """Write the network of `safetensors` to `destination`, and its weights beside it."""
    tensors = _read_safetensors(safetensors)
    with destination.with_suffix(".weights").open("wb") as weights:
        graph = _Graph(weights, location=destination.with_suffix(".weights").name)
        hidden = _embed(graph, _below(tensors, "embeddings."))
        for index in range(_LAYERS):
            layer = _below(tensors, f"encoder.layer.{index}.")
            hidden = _attend(graph, _below(layer, "attention."), f"layer.{index}.attention", hidden)
            hidden = _transform(graph, layer, f"layer.{index}.feed_forward", hidden)
        _pool(graph, hidden)
    destination.write_bytes(graph.serialize())


def _read_safetensors(path: Path) -> dict[str, Array]:
    """The float tensors of a file by name, mapped rather than read.

    The format: the header's size in eight little-endian bytes, the header as JSON, the data.
    """
    with path.open("rb") as file:
        header_size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(header_size))
    data = np.memmap(path, np.uint8, "r", offset=8 + header_size)
    return {
        name: data[slice(*entry["data_offsets"])].view("<f4").reshape(entry["shape"])
        for name, entry in header.items()
        if entry.get("dtype") == "F32"  # neither `__metadata__` nor the list of positions
    }


def _below(tensors: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    """The tensors under a prefix, named without it."""
    return {
        name.removeprefix(prefix): values
        for name, values in tensors.items()
        if name.startswith(prefix)
    }


class _Graph:
    """A graph in the making; its weights go to their file as they are added.

    Every method returns the name of what it added, which is what other nodes refer to it by.
    """

    def __init__(self, weights: BinaryIO, location: str) -> None:
        self._weights = weights
        self._location = location
        self._initializers: list[TensorProto] = []
        self._nodes: list[NodeProto] = []

    def weight(self, name: str, values: Array) -> str:
        offset = self._weights.seek(math.ceil(self._weights.tell() / _PAGE_SIZE) * _PAGE_SIZE)
        self._weights.write(np.ascontiguousarray(values, "<f4").data)
        place = {"location": self._location, "offset": str(offset), "length": str(values.nbytes)}
        tensor = TensorProto(
            name=name,
            data_type=TensorProto.FLOAT,
            dims=values.shape,
            data_location=TensorProto.EXTERNAL,
            external_data=[StringStringEntryProto(key=k, value=v) for k, v in place.items()],
        )
        self._initializers.append(tensor)
        return name

    def integers(self, name: str, values: list[int]) -> str:
        tensor = helper.make_tensor(name, TensorProto.INT64, [len(values)], values)
        self._initializers.append(tensor)
        return name

    def standard(self, name: str, operator: str, inputs: list[str], **options: Attribute) -> str:
        return self._add(_STANDARD, operator, inputs, [name], options)

    def fused(
        self, name: str, operator: str, inputs: list[str], *unused: str, **options: Attribute
    ) -> str:
        """Add one of onnxruntime's operators; `unused` are outputs that it insists on having."""
        return self._add(_FUSED, operator, inputs, [name, *unused], options)

    def serialize(self) -> bytes:
        shape = ["batch", "tokens"]
        graph = helper.make_graph(
            nodes=self._nodes,
            name="all-MiniLM-L6-v2",
            inputs=[
                helper.make_tensor_value_info("input_ids", TensorProto.INT32, shape),
                helper.make_tensor_value_info("attention_mask", TensorProto.INT32, shape),
            ],
            outputs=[
                helper.make_tensor_value_info(
                    "embedding", TensorProto.FLOAT, ["batch", _DIMENSIONS]
                )
            ],
            initializer=self._initializers,
        )
        opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        return bytes(model.SerializeToString())

    def _add(
        self,
        domain: str,
        operator: str,
        inputs: list[str],
        outputs: list[str],
        options: Mapping[str, Attribute],
    ) -> str:
        node = NodeProto(
            name=outputs[0], domain=domain, op_type=operator, input=inputs, output=outputs
        )
        node.attribute.extend(helper.make_attribute(key, value) for key, value in options.items())
        self._nodes.append(node)
        return outputs[0]


def _embed(graph: _Graph, tensors: Mapping[str, Array]) -> str:
    """Words and positions, added and normalised.

    Our texts have one segment each, so its vector is added to every position here, once,
    instead of to every token later.
    """
    segment = tensors["token_type_embeddings.weight"][0]
    inputs = [
        "input_ids",
        "",  # no segments
        graph.weight("embeddings.words", tensors["word_embeddings.weight"]),
        graph.weight("embeddings.positions", tensors["position_embeddings.weight"] + segment),
        "",
        graph.weight("embeddings.norm.scale", tensors["LayerNorm.weight"]),
        graph.weight("embeddings.norm.shift", tensors["LayerNorm.bias"]),
    ]
    return graph.fused(
        "embeddings", "EmbedLayerNormalization", inputs, "embeddings.mask", epsilon=_EPSILON
    )


def _attend(graph: _Graph, tensors: Mapping[str, Array], name: str, hidden: str) -> str:
    """The first half of a layer: every token looks at all others."""
    parts = [_below(tensors, f"self.{part}.") for part in ("query", "key", "value")]
    weight = np.concatenate([part["weight"].T for part in parts], axis=1)
    inputs = [
        hidden,
        graph.weight(f"{name}.inner.weight", weight),
        graph.weight(f"{name}.inner.bias", np.concatenate([part["bias"] for part in parts])),
        "attention_mask",
    ]
    inner = graph.fused(f"{name}.inner", "Attention", inputs, num_heads=_HEADS)
    return _project(graph, _below(tensors, "output."), name, inner, hidden)


def _transform(graph: _Graph, tensors: Mapping[str, Array], name: str, hidden: str) -> str:
    """The second half of a layer: every token for itself, through a wider space."""
    dense = _below(tensors, "intermediate.dense.")
    weight = graph.weight(f"{name}.inner.weight", dense["weight"].T)
    bias = graph.weight(f"{name}.inner.bias", dense["bias"])
    wide = graph.standard(f"{name}.wide", "MatMul", [hidden, weight])
    inner = graph.fused(f"{name}.inner", "BiasGelu", [wide, bias])
    return _project(graph, _below(tensors, "output."), name, inner, hidden)


def _project(
    graph: _Graph, tensors: Mapping[str, Array], name: str, inner: str, hidden: str
) -> str:
    """The end of both halves: back to the model's width, plus what came in, normalised."""
    weight = graph.weight(f"{name}.outer.weight", tensors["dense.weight"].T)
    inputs = [
        graph.standard(f"{name}.outer", "MatMul", [inner, weight]),
        hidden,
        graph.weight(f"{name}.norm.scale", tensors["LayerNorm.weight"]),
        graph.weight(f"{name}.norm.shift", tensors["LayerNorm.bias"]),
        graph.weight(f"{name}.outer.bias", tensors["dense.bias"]),
    ]
    return graph.fused(name, "SkipLayerNormalization", inputs, epsilon=_EPSILON)


def _pool(graph: _Graph, hidden: str) -> str:
    """The mean of the tokens that are not padding, at unit length.

    A row of ones and zeros times the tokens is the sum of those that count. The mean would point
    the same way, so there is no need to divide before normalising.
    """
    axis = graph.integers("pooling.axis", [1])
    mask = graph.standard("pooling.mask", "Cast", ["attention_mask"], to=TensorProto.FLOAT)
    row = graph.standard("pooling.row", "Unsqueeze", [mask, axis])
    product = graph.standard("pooling.product", "MatMul", [row, hidden])
    total = graph.standard("pooling.total", "Squeeze", [product, axis])
    return graph.standard("embedding", "LpNormalization", [total], axis=1, p=2)
