"""What the tool definitions of this server say that others do not."""

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
