import hashlib
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

from quinion.embed.local.weights import GRAPH_VERSION, PreparedModel

DIGESTS_OF_VERSION = {2: {"model": "3628ae71d65d3a55", "queries": "fa79cfb456fe7425"}}


@pytest.fixture(params=["model", "queries"])
def graph(request: pytest.FixtureRequest, prepared: PreparedModel) -> Path:
    """Load one of the two graphs."""
    files = {file.stem: file for file in (prepared.graph, prepared.light_graph)}
    return files[request.param]


def describe(model: onnx.ModelProto) -> str:
    """Describe a graph without the values of its weights."""
    lines = [f"opset {opset.domain} {opset.version}" for opset in model.opset_import]
    lines += [f"weight {t.name} {list(t.dims)}" for t in model.graph.initializer]
    for node in model.graph.node:
        options = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        lines.append(f"{node.op_type} {list(node.input)} {list(node.output)} {options}")
    return "\n".join(lines)


def test_a_changed_graph_has_a_new_version_so_that_no_old_one_is_used_again(graph: Path) -> None:
    model = onnx.load(graph, load_external_data=False)
    digest = hashlib.sha256(describe(model).encode()).hexdigest()[:16]
    assert digest == DIGESTS_OF_VERSION[GRAPH_VERSION][graph.stem]


def test_a_graph_holds_no_weights_itself(graph: Path) -> None:
    assert graph.stat().st_size < 50_000


def test_weights_shared_by_both_graphs_are_stored_once(prepared: PreparedModel) -> None:
    weights = prepared.graph.with_suffix(".weights").stat().st_size
    assert 101_000_000 < weights < 103_000_000
    places = [dict(external(graph)) for graph in (prepared.graph, prepared.light_graph)]
    both = places[0].keys() & places[1].keys()
    assert len(both) == 52
    assert all(places[0][name] == places[1][name] for name in both)


def test_every_weight_starts_on_a_page_boundary(graph: Path) -> None:
    places = dict(external(graph))
    assert len(places) == {"model": 76, "queries": 100}[graph.stem]
    assert all(int(place["offset"]) % 4096 == 0 for place in places.values())


def external(graph: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Return the external locations of the weights by name."""
    for tensor in onnx.load(graph, load_external_data=False).graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            yield tensor.name, {entry.key: entry.value for entry in tensor.external_data}
