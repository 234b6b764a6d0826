"""What a client is told of the server and its tools before it calls any."""

import pytest

from quinion.servers.docvec.filters import FIELDS
from quinion.store.filters import OPERATORS
from tests.contract.docvec.asking import (
    BUDGET_ADDITIONS,
    BUDGET_KEYS,
    CHUNKS_KEYS,
    CLEARED_KEYS,
    DELETED_FILE_KEYS,
    DIRECTORY_ADDITIONS,
    DIRECTORY_KEYS,
    DONE_KEYS,
    ERROR_ADDITIONS,
    ERROR_KEYS,
    FAILED_KEYS,
    FILE_ADDITIONS,
    FILE_KEYS,
    RESULT_KEYS,
    SEARCH_ADDITIONS,
    SEARCH_KEYS,
    STATS_ADDITIONS,
    STATS_KEYS,
)
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
    shapes_of,
)

READING = {"search", "search_with_filters", "search_with_budget", "get_index_stats"}
INDEXING = {"index_file", "index_directory"}
DELETING = {"delete_chunks", "delete_file", "clear_index"}
TOOLS = READING | INDEXING | DELETING
WARNED = {"warnings"}
"""An addition that is left out where nothing is hidden."""
PARAMETERS: list[Parameter] = [
    ("index_file", "file_path", {"string"}, True, NOTHING),
    ("index_directory", "dir_path", {"string"}, True, NOTHING),
    ("index_directory", "recursive", {"boolean"}, False, True),
    ("search", "query", {"string"}, True, NOTHING),
    ("search", "n_results", {"integer"}, False, 5),
    ("search_with_filters", "query", {"string"}, True, NOTHING),
    ("search_with_filters", "filters", {"object", "null"}, False, None),
    ("search_with_filters", "n_results", {"integer"}, False, 5),
    ("search_with_budget", "query", {"string"}, True, NOTHING),
    ("search_with_budget", "max_tokens", {"integer"}, False, 3000),
    ("delete_chunks", "ids", {"array"}, True, NOTHING),
    ("delete_file", "source_file", {"string"}, True, NOTHING),
    ("clear_index", "confirm", {"boolean"}, True, NOTHING),
    # An addition, which a client of the contract never sends.
    ("get_index_stats", "from_file", {"integer"}, False, 0),
]


def test_the_tools_are_exactly_the_nine_of_the_contract(session: Session) -> None:
    assert set(session.tools) == TOOLS


def test_the_parameters_are_those_of_the_contract_and_one_addition(session: Session) -> None:
    assert parameters_of(session) == {(tool, parameter) for tool, parameter, *_ in PARAMETERS}


@pytest.mark.parametrize(("tool", "parameter", "types", "required", "default"), PARAMETERS)
def test_a_parameter_has_its_type_and_default(
    session: Session, tool: str, parameter: str, types: set[str], required: bool, default: object
) -> None:
    check_parameter(session, tool, parameter, types, required, default)


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


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_a_tool_has_a_title_a_description_and_annotations(session: Session, tool: str) -> None:
    check_annotations(session.tools[tool], read_only=tool in READING, destructive=tool in DELETING)


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_the_schemas_are_valid_and_closed_to_unknown_parameters(
    session: Session, tool: str
) -> None:
    check_schemas(session.tools[tool])


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_every_answer_is_one_of_two_envelopes(session: Session, tool: str) -> None:
    shapes = shapes_of(session.tools[tool])
    assert [set(shape["properties"]) for shape in shapes] == [DONE_KEYS, FAILED_KEYS]
    assert [shape["properties"]["success"]["const"] for shape in shapes] == [True, False]


@pytest.mark.parametrize(
    ("tool", "part", "fields"),
    [
        ("index_file", "IndexedFile", FILE_KEYS | FILE_ADDITIONS | WARNED),
        ("index_directory", "IndexedDirectory", DIRECTORY_KEYS | DIRECTORY_ADDITIONS | WARNED),
        ("index_directory", "FileError", ERROR_KEYS | ERROR_ADDITIONS),
        ("search", "Found", SEARCH_KEYS | SEARCH_ADDITIONS),
        ("search", "Result", RESULT_KEYS),
        ("search_with_filters", "Found", SEARCH_KEYS | SEARCH_ADDITIONS),
        ("search_with_budget", "FoundWithinBudget", BUDGET_KEYS | BUDGET_ADDITIONS),
        ("delete_chunks", "DeletedChunks", CHUNKS_KEYS),
        ("delete_file", "DeletedFile", DELETED_FILE_KEYS),
        ("clear_index", "Cleared", CLEARED_KEYS),
        ("get_index_stats", "Stats", STATS_KEYS | STATS_ADDITIONS),
    ],
)
def test_the_output_schema_names_every_field_of_the_data(
    session: Session, tool: str, part: str, fields: set[str]
) -> None:
    assert set(part_of(session.tools[tool], part)["properties"]) == fields


def test_the_server_says_who_it_is_and_how_to_use_it(session: Session) -> None:
    check_introduction(session, "docvec-mcp")
