"""Export of all-MiniLM-L6-v2 to ONNX graphs, from its original weights.

The published weights are a `model.safetensors`, which is usually run with PyTorch: six seconds
of start-up and half a gigabyte for a model of 23 million parameters. The network is small enough
to be defined here, with `onnx` and numpy alone:

    tokens, mask → embeddings → 6 × (attention → feed-forward) → mean over the mask → unit length

The operators are onnxruntime's fused ones (domain `com.microsoft`), which its optimizer would
otherwise have to find in an exported graph.

There are two graphs: the exact one in float32, and a light one for queries with weights in eight
bits and one scale per block of 64. A query has a dozen tokens, so reading the weights from memory
takes most of the time; a quarter of the bytes takes half the time.

The weights are in a separate file. onnxruntime maps that file instead of reading it, so the word
embeddings, half of the model, use memory only for the words that occur: 111 MB after loading,
against 179 MB with everything in one file.

Importing this module imports `onnx`, so import it only where a graph is written.
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
Bytes = NDArray[np.uint8]
Attribute = int | float

_LAYERS = 6
_HEADS = 12
_DIMENSIONS = 384
_EPSILON = 1e-12
_BLOCK = 64  # weights that share a scale, in the light graph
_ZERO = 128  # the byte that represents zero there
_AS_BYTES = 4  # accuracy level: onnxruntime multiplies bytes

_STANDARD = ""
_FUSED = "com.microsoft"
_OPSETS = {_STANDARD: 17, _FUSED: 1}
_IR_VERSION = 8  # the one that opset 17 came with
_PAGE_SIZE = 4096  # alignment that ONNX requires of mapped data


def write_graphs(safetensors: Path, exact: Path, light: Path) -> None:
    """Write both graphs of the network, and one weights file beside `exact`."""
    tensors = _read_safetensors(safetensors)
    with exact.with_suffix(".weights").open("wb") as file:
        weights = _Weights(file, exact.with_suffix(".weights").name)
        exact.write_bytes(_write(_Graph(weights), tensors))
        light.write_bytes(_write(_LightGraph(weights), tensors))


def _write(graph: "_Graph", tensors: Mapping[str, Array]) -> bytes:
    hidden = _embed(graph, _below(tensors, "embeddings."))
    for index in range(_LAYERS):
        layer = _below(tensors, f"encoder.layer.{index}.")
        hidden = _attend(graph, _below(layer, "attention."), f"layer.{index}.attention", hidden)
        hidden = _transform(graph, layer, f"layer.{index}.feed_forward", hidden)
    _pool(graph, hidden)
    return graph.serialize()


def _read_safetensors(path: Path) -> dict[str, Array]:
    """Memory-map the float tensors of a file, by name.

    Format: the header size in eight little-endian bytes, the header as JSON, the data.
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
    """Select the tensors under a prefix and strip it from their names."""
    return {
        name.removeprefix(prefix): values
        for name, values in tensors.items()
        if name.startswith(prefix)
    }


class _Weights:
    """The weights file; each name is written once and shared by both graphs."""

    def __init__(self, file: BinaryIO, location: str) -> None:
        self._file = file
        self._location = location
        self._tensors: dict[str, TensorProto] = {}

    def tensor(self, name: str, values: Array | Bytes) -> TensorProto:
        if name not in self._tensors:
            offset = self._file.seek(math.ceil(self._file.tell() / _PAGE_SIZE) * _PAGE_SIZE)
            kind = TensorProto.UINT8 if values.dtype == np.uint8 else TensorProto.FLOAT
            stored = values if kind == TensorProto.UINT8 else values.astype("<f4", copy=False)
            self._file.write(np.ascontiguousarray(stored).data)
            place = {"location": self._location, "offset": offset, "length": stored.nbytes}
            self._tensors[name] = TensorProto(
                name=name,
                data_type=kind,
                dims=values.shape,
                data_location=TensorProto.EXTERNAL,
                external_data=[
                    StringStringEntryProto(key=key, value=str(value))
                    for key, value in place.items()
                ],
            )
        return self._tensors[name]


class _Graph:
    """Builder of a graph; weights are written to their file as they are added.

    Every method returns the name of the node or tensor that it added.
    """

    def __init__(self, weights: _Weights) -> None:
        self._weights = weights
        self._initializers: list[TensorProto] = []
        self._nodes: list[NodeProto] = []

    def weight(self, name: str, values: Array | Bytes) -> str:
        self._initializers.append(self._weights.tensor(name, values))
        return name

    def multiply(self, name: str, hidden: str, weight: str, values: Array) -> str:
        return self.standard(name, "MatMul", [hidden, self.weight(weight, values)])

    def attend(self, name: str, hidden: str, weight: Array, bias: Array) -> str:
        inputs = [
            hidden,
            self.weight(f"{name}.weight", weight),
            self.weight(f"{name}.bias", bias),
            "attention_mask",
        ]
        return self.fused(name, "Attention", inputs, num_heads=_HEADS)

    def integers(self, name: str, values: list[int]) -> str:
        tensor = helper.make_tensor(name, TensorProto.INT64, [len(values)], values)
        self._initializers.append(tensor)
        return name

    def standard(self, name: str, operator: str, inputs: list[str], **options: Attribute) -> str:
        return self._add(_STANDARD, operator, inputs, [name], options)

    def fused(
        self, name: str, operator: str, inputs: list[str], *unused: str, **options: Attribute
    ) -> str:
        """Add an onnxruntime operator; `unused` are its mandatory outputs that nothing reads."""
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


class _LightGraph(_Graph):
    """Builder of the light graph: matrix multiplications have weights in eight bits."""

    def multiply(self, name: str, hidden: str, weight: str, values: Array) -> str:
        rows, columns = values.shape
        blocks = values.T.reshape(columns, rows // _BLOCK, _BLOCK)
        scales = np.abs(blocks).max(2) / (_ZERO - 1)
        numbers = (np.rint(blocks / scales[..., None]) + _ZERO).astype(np.uint8)
        inputs = [
            hidden,
            self.weight(f"{weight}.numbers", numbers),
            self.weight(f"{weight}.scales", scales.ravel()),
        ]
        sizes = {"K": rows, "N": columns, "bits": 8, "block_size": _BLOCK}
        return self.fused(name, "MatMulNBits", inputs, accuracy_level=_AS_BYTES, **sizes)

    def attend(self, name: str, hidden: str, weight: Array, bias: Array) -> str:
        together = self.multiply(f"{name}.together", hidden, f"{name}.weight", weight)
        sizes = self.integers(f"{name}.sizes", [_DIMENSIONS] * 3)
        parts = [f"{name}.query", f"{name}.key", f"{name}.value"]
        self._add(_STANDARD, "Split", [together, sizes], parts, {"axis": 2})
        inputs = [*parts, self.weight(f"{name}.bias", bias), "attention_mask"]
        return self.fused(name, "MultiHeadAttention", inputs, num_heads=_HEADS)


def _embed(graph: _Graph, tensors: Mapping[str, Array]) -> str:
    """Add word and position embeddings, and normalize.

    Every text has one segment, so the segment vector is added to the positions here, once,
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
    """Self-attention, the first half of a layer."""
    parts = [_below(tensors, f"self.{part}.") for part in ("query", "key", "value")]
    weight = np.concatenate([part["weight"].T for part in parts], axis=1)
    bias = np.concatenate([part["bias"] for part in parts])
    inner = graph.attend(f"{name}.inner", hidden, weight, bias)
    return _project(graph, _below(tensors, "output."), name, inner, hidden)


def _transform(graph: _Graph, tensors: Mapping[str, Array], name: str, hidden: str) -> str:
    """Feed-forward network, the second half of a layer."""
    dense = _below(tensors, "intermediate.dense.")
    wide = graph.multiply(f"{name}.wide", hidden, f"{name}.inner.weight", dense["weight"].T)
    bias = graph.weight(f"{name}.inner.bias", dense["bias"])
    inner = graph.fused(f"{name}.inner", "BiasGelu", [wide, bias])
    return _project(graph, _below(tensors, "output."), name, inner, hidden)


def _project(
    graph: _Graph, tensors: Mapping[str, Array], name: str, inner: str, hidden: str
) -> str:
    """Projection to the model's width, residual and normalization: the end of both halves."""
    weight = tensors["dense.weight"].T
    inputs = [
        graph.multiply(f"{name}.outer", inner, f"{name}.outer.weight", weight),
        hidden,
        graph.weight(f"{name}.norm.scale", tensors["LayerNorm.weight"]),
        graph.weight(f"{name}.norm.shift", tensors["LayerNorm.bias"]),
        graph.weight(f"{name}.outer.bias", tensors["dense.bias"]),
    ]
    return graph.fused(name, "SkipLayerNormalization", inputs, epsilon=_EPSILON)


def _pool(graph: _Graph, hidden: str) -> str:
    """Mean pooling over the tokens that are not padding, at unit length.

    The mask times the tokens is their sum. The mean has the same direction, so no division is
    needed before normalizing.
    """
    axis = graph.integers("pooling.axis", [1])
    mask = graph.standard("pooling.mask", "Cast", ["attention_mask"], to=TensorProto.FLOAT)
    row = graph.standard("pooling.row", "Unsqueeze", [mask, axis])
    product = graph.standard("pooling.product", "MatMul", [row, hidden])
    total = graph.standard("pooling.total", "Squeeze", [product, axis])
    return graph.standard("embedding", "LpNormalization", [total], axis=1, p=2)
