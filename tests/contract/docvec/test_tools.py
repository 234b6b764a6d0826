"""What the tool definitions of this server say that others do not."""

import jsonschema  # type: ignore[import-untyped]
import pytest

from quinion.servers.docvec.filters import FIELDS
from quinion.store.filters import OPERATORS
from tests.contract.session import Session
from tests.contract.tools import (
    shapes_of,
)


@pytest.mark.parametrize("tool", ["search", "search_with_filters"])
def test_the_number_of_results_is_one_to_fifty(session: Session, tool: str) -> None:
    described = session.tools[tool].input_schema["properties"]["n_results"]
    assert (described["minimum"], described["maximum"]) == (1, 50)


def test_ids_are_a_list_of_strings(session: Session) -> None:
    described = session.tools["delete_chunks"].input_schema["properties"]["ids"]
    assert described["items"]["type"] == "string"


def test_a_model_is_told_every_operator_and_every_field_of_a_filter(session: Session) -> None:
    tool = session.tools["search_with_filters"]
    filters = tool.input_schema["properties"]["filters"]["description"]
    for operator in (*OPERATORS, "$and", "$or"):
        assert operator in filters
    for field in FIELDS:
        assert field in (tool.description or "")


def test_every_answer_says_whether_it_succeeded(session: Session) -> None:
    for tool in session.tools.values():
        shapes = shapes_of(tool)
        assert [shape["properties"]["success"]["const"] for shape in shapes] == [True, False]


@pytest.mark.parametrize(
    ("filters", "is_valid"),
    [
        # The contract's examples.
        ({"source_file": "/path/to/doc.md", "header_level": 2}, True),
        ({"page_number": {"$gte": 10, "$lte": 20}}, True),
        ({"source_file": {"$contains": "config"}}, True),
        ({"function_name": "main"}, True),
        ({"page_number": "ten"}, False),
        ({"source_file": 5}, False),
    ],
)
def test_the_schema_of_filters_has_the_properties_of_the_contract(
    session: Session, filters: dict[str, object], is_valid: bool
) -> None:
    schema = session.tools["search_with_filters"].input_schema
    [described, _] = schema["properties"]["filters"]["anyOf"]
    types = {
        name: [one["type"] for one in property_["anyOf"]]
        for name, property_ in described["properties"].items()
    }
    assert types == {
        "source_file": ["string", "object"],
        "file_format": ["string", "object"],
        "page_number": ["integer", "object"],
        "header_level": ["integer", "object"],
    }
    given = {"query": "x", "filters": filters}
    assert jsonschema.Draft202012Validator(schema).is_valid(given) is is_valid
