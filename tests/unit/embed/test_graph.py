import hashlib

import onnx

from quinion.embed.weights import GRAPH_VERSION, PreparedModel

DIGEST_OF_VERSION = {1: "3628ae71d65d3a55"}


def describe(model: onnx.ModelProto) -> str:
    """Everything about a graph but the values of its weights."""
    lines = [f"opset {opset.domain} {opset.version}" for opset in model.opset_import]
    lines += [f"weight {t.name} {list(t.dims)}" for t in model.graph.initializer]
    for node in model.graph.node:
        options = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        lines.append(f"{node.op_type} {list(node.input)} {list(node.output)} {options}")
    return "\n".join(lines)


def test_a_changed_graph_has_a_new_version_so_that_no_old_one_is_used_again(
    prepared: PreparedModel,
) -> None:
    model = onnx.load(prepared.graph, load_external_data=False)
    digest = hashlib.sha256(describe(model).encode()).hexdigest()[:16]
    assert digest == DIGEST_OF_VERSION[GRAPH_VERSION]


def test_the_graph_holds_no_weights_itself(prepared: PreparedModel) -> None:
    assert prepared.graph.stat().st_size < 50_000
    assert prepared.graph.with_suffix(".weights").stat().st_size > 90_000_000


def test_every_weight_can_be_mapped_from_a_page_of_its_own(prepared: PreparedModel) -> None:
    model = onnx.load(prepared.graph, load_external_data=False)
    places = [
        {entry.key: entry.value for entry in tensor.external_data}
        for tensor in model.graph.initializer
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    ]
    assert len(places) == 76
    assert all(int(place["offset"]) % 4096 == 0 for place in places)
