"""What the tool definitions of this server say that others do not."""

import pytest

from quinion.model.element import ElementType
from tests.contract.session import Session

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
UNLISTED = {"add_document", "enrich_document", "list_elements", "remove_document"}
"""Tools of quinion's own commands."""


def test_the_tools_have_their_titles(session: Session) -> None:
    assert {name: tool.title for name, tool in session.tools.items()} == TITLES


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


def test_what_the_keeper_does_is_not_listed_to_clients(session: Session) -> None:
    assert not UNLISTED & set(session.tools)
    assert session.client.instructions
    assert not any(tool in session.client.instructions for tool in UNLISTED)


def test_the_instructions_name_the_tour(session: Session) -> None:
    assert "tour://library" in (session.client.instructions or "")
