"""What a client is told of the server and its tools before it calls any."""

import pytest

from quinion.model.element import ElementType
from tests.contract.doclibrary.asking import COUNT_KEYS, DOCUMENT_KEYS, PAGINATION_KEYS, RESULT_KEYS
from tests.contract.session import Session
from tests.contract.tools import (
    NOTHING,
    Parameter,
    check_annotations,
    check_introduction,
    check_parameter,
    check_schemas,
    parameters_of,
    part_of,
)

TITLES = {
    "search_documents": "Search the library",
    "search_visual_elements": "Search figures and tables",
    "get_element_image": "Show a figure or table",
    "get_element_details": "Tell about a figure or table",
    "get_page_image": "Show a page",
    "get_document_info": "Tell about a document",
    "find_document": "Find a document",
    "list_documents": "List documents",
    "list_documents_paginated": "List documents in parts",
    "get_library_status": "Library status",
}
SHOWING = {"get_element_image", "get_page_image"}
"""Their answers are content of MCP and have no data."""
FLAGGED = {"hidden_text"}
"""An addition that is left out where nothing is hidden."""
UNLISTED = {"add_document", "enrich_document", "list_elements", "remove_document"}
PARAMETERS: list[Parameter] = [
    ("search_documents", "query", {"string"}, True, NOTHING),
    ("search_documents", "limit", {"integer"}, False, 10),
    ("search_documents", "document_slug", {"string", "null"}, False, None),
    ("search_visual_elements", "query", {"string"}, True, NOTHING),
    ("search_visual_elements", "element_type", {"string", "null"}, False, None),
    ("search_visual_elements", "limit", {"integer"}, False, 10),
    ("search_visual_elements", "document_slug", {"string", "null"}, False, None),
    ("get_element_image", "document_slug", {"string"}, True, NOTHING),
    ("get_element_image", "element_label", {"string"}, True, NOTHING),
    ("get_element_image", "page_number", {"integer", "null"}, False, None),
    ("get_element_details", "document_slug", {"string"}, True, NOTHING),
    ("get_element_details", "element_label", {"string"}, True, NOTHING),
    ("get_element_details", "page_number", {"integer", "null"}, False, None),
    ("get_page_image", "document_slug", {"string"}, True, NOTHING),
    ("get_page_image", "page_number", {"integer"}, True, NOTHING),
    ("get_document_info", "document_slug", {"string"}, True, NOTHING),
    ("find_document", "query", {"string"}, True, NOTHING),
    ("find_document", "limit", {"integer"}, False, 5),
    ("list_documents_paginated", "page", {"integer"}, False, 1),
    ("list_documents_paginated", "page_size", {"integer"}, False, 20),
    ("list_documents_paginated", "sort_by", {"string"}, False, "title"),
]


def test_the_tools_are_exactly_the_ten_of_the_contract(session: Session) -> None:
    assert {name: tool.title for name, tool in session.tools.items()} == TITLES


def test_the_parameters_are_those_of_the_contract(session: Session) -> None:
    assert parameters_of(session) == {(tool, parameter) for tool, parameter, *_ in PARAMETERS}


@pytest.mark.parametrize(("tool", "parameter", "types", "required", "default"), PARAMETERS)
def test_a_parameter_has_its_type_and_default(
    session: Session, tool: str, parameter: str, types: set[str], required: bool, default: object
) -> None:
    check_parameter(session, tool, parameter, types, required, default)


@pytest.mark.parametrize(
    ("tool", "parameter", "maximum"),
    [
        ("search_documents", "limit", 50),
        ("search_visual_elements", "limit", 50),
        ("find_document", "limit", 100),
        ("list_documents_paginated", "page_size", 100),
    ],
)
def test_a_number_of_results_has_its_limits(
    session: Session, tool: str, parameter: str, maximum: int
) -> None:
    described = session.tools[tool].input_schema["properties"][parameter]
    assert (described["minimum"], described["maximum"]) == (1, maximum)


def test_a_model_is_told_all_types_and_all_sort_keys(session: Session) -> None:
    def described(tool: str, parameter: str) -> str:
        text = session.tools[tool].input_schema["properties"][parameter]["description"]
        assert isinstance(text, str)
        return text

    types = described("search_visual_elements", "element_type")
    assert all(kind in types for kind in ElementType)
    keys = described("list_documents_paginated", "sort_by")
    assert all(key in keys for key in ("title", "date_added", "page_count"))


@pytest.mark.parametrize("tool", TITLES)
def test_a_tool_only_reads_and_says_so(session: Session, tool: str) -> None:
    check_annotations(session.tools[tool], read_only=True)


@pytest.mark.parametrize("tool", sorted(TITLES.keys() - SHOWING))
def test_the_schemas_are_valid_and_closed_to_unknown_parameters(
    session: Session, tool: str
) -> None:
    check_schemas(session.tools[tool])


@pytest.mark.parametrize("tool", sorted(SHOWING))
def test_a_tool_that_shows_announces_no_data(session: Session, tool: str) -> None:
    assert session.tools[tool].output_schema is None
    assert session.tools[tool].input_schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("tool", "part", "fields"),
    [
        ("search_documents", "Result", RESULT_KEYS | FLAGGED),
        ("search_visual_elements", "Result", RESULT_KEYS | FLAGGED),
        ("get_document_info", "Listed", DOCUMENT_KEYS),
        ("get_document_info", "ElementCounts", COUNT_KEYS),
        ("find_document", "Matches", {"results", "total_count"}),
        ("list_documents_paginated", "ListedPage", {"documents", "pagination"}),
        ("list_documents_paginated", "Pagination", PAGINATION_KEYS),
        ("get_library_status", "Failed", {"error"}),
    ],
)
def test_the_output_schema_names_every_field(
    session: Session, tool: str, part: str, fields: set[str]
) -> None:
    assert set(part_of(session.tools[tool], part)["properties"]) == fields


def test_what_the_keeper_does_is_not_listed_to_clients(session: Session) -> None:
    assert not UNLISTED & set(session.tools)
    assert session.client.instructions
    assert not any(tool in session.client.instructions for tool in UNLISTED)


def test_the_server_says_who_it_is_and_how_to_use_it(session: Session) -> None:
    check_introduction(session, "doclibrary")
    assert "tour://library" in (session.client.instructions or "")
