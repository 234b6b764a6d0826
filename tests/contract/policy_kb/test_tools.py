"""What a client is told of the server and its tools before it calls any."""

import pytest

from tests.contract.policy_kb.asking import (
    ERROR_KEYS,
    INGEST_KEYS,
    POLICIES_ADDITIONS,
    POLICIES_KEYS,
    POLICY_KEYS,
    REMOVE_KEYS,
    RESULT_FIELDS,
    REVISION_KEYS,
    REVISIONS_ADDITIONS,
    REVISIONS_KEYS,
    SEARCH_ADDITIONS,
    SEARCH_KEYS,
    SECTION_ADDITIONS,
    SECTION_KEYS,
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

# What is asked here does not depend on where the registry is.
pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)

READING = {
    "search_policy",
    "get_policy_section",
    "list_policy_documents",
    "list_policy_revisions",
}
WRITING = {"ingest_policy_revision", "remove_policy_revision"}
TOOLS = READING | WRITING
FLAGGED, WARNED = {"hidden_text"}, {"warnings"}
"""Additions that are left out where nothing is hidden."""
PARAMETERS: list[Parameter] = [
    ("search_policy", "query", {"string"}, True, NOTHING),
    ("search_policy", "sources", {"array", "null"}, False, None),
    ("search_policy", "effective_date", {"string", "null"}, False, None),
    ("search_policy", "n_results", {"integer"}, False, 10),
    ("get_policy_section", "source", {"string"}, True, NOTHING),
    ("get_policy_section", "section_ref", {"string"}, True, NOTHING),
    ("get_policy_section", "revision_id", {"string", "null"}, False, None),
    ("list_policy_revisions", "source", {"string"}, True, NOTHING),
    ("ingest_policy_revision", "source", {"string"}, True, NOTHING),
    ("ingest_policy_revision", "revision_id", {"string"}, True, NOTHING),
    ("ingest_policy_revision", "file_path", {"string"}, True, NOTHING),
    ("ingest_policy_revision", "reindex", {"boolean"}, False, False),
    ("remove_policy_revision", "source", {"string"}, True, NOTHING),
    ("remove_policy_revision", "revision_id", {"string"}, True, NOTHING),
    # Additions, which a client of the contract never sends.
    ("search_policy", "more_queries", {"array", "null"}, False, None),
    ("get_policy_section", "from_part", {"integer"}, False, 0),
    ("list_policy_revisions", "from_revision", {"integer"}, False, 0),
]


def test_the_tools_are_exactly_the_six_of_the_contract(session: Session) -> None:
    assert set(session.tools) == TOOLS


def test_the_parameters_are_those_of_the_contract_and_three_additions(session: Session) -> None:
    assert parameters_of(session) == {(tool, parameter) for tool, parameter, *_ in PARAMETERS}


@pytest.mark.parametrize(("tool", "parameter", "types", "required", "default"), PARAMETERS)
def test_a_parameter_has_its_type_and_default(
    session: Session, tool: str, parameter: str, types: set[str], required: bool, default: object
) -> None:
    check_parameter(session, tool, parameter, types, required, default)


def test_listing_the_policies_takes_no_parameters(session: Session) -> None:
    schema = session.tools["list_policy_documents"].input_schema
    assert schema["properties"] == {}
    assert not schema.get("required")


@pytest.mark.parametrize("parameter", ["sources", "more_queries"])
def test_a_list_is_one_of_strings(session: Session, parameter: str) -> None:
    schema = session.tools["search_policy"].input_schema["properties"][parameter]
    [array] = [option for option in schema["anyOf"] if option["type"] == "array"]
    assert array["items"]["type"] == "string"


def test_a_model_is_told_how_a_date_is_written(session: Session) -> None:
    schema = session.tools["search_policy"].input_schema["properties"]["effective_date"]
    assert "YYYY-MM-DD" in schema["description"]


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_a_tool_has_a_title_a_description_and_annotations(session: Session, tool: str) -> None:
    check_annotations(
        session.tools[tool],
        read_only=tool in READING,
        destructive=tool == "remove_policy_revision",
    )


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_the_schemas_are_valid_and_closed_to_unknown_parameters(
    session: Session, tool: str
) -> None:
    check_schemas(session.tools[tool])


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("search_policy", SEARCH_KEYS | SEARCH_ADDITIONS),
        ("get_policy_section", SECTION_KEYS | SECTION_ADDITIONS | FLAGGED),
        ("list_policy_documents", POLICIES_KEYS | POLICIES_ADDITIONS),
        ("list_policy_revisions", REVISIONS_KEYS | REVISIONS_ADDITIONS),
        ("ingest_policy_revision", INGEST_KEYS | WARNED),
        ("remove_policy_revision", REMOVE_KEYS),
    ],
)
def test_the_output_schema_names_both_answers_of_the_contract(
    session: Session, tool: str, expected: set[str]
) -> None:
    shapes = shapes_of(session.tools[tool])
    assert [set(shape["properties"]) for shape in shapes] == [expected, ERROR_KEYS]


@pytest.mark.parametrize(
    ("tool", "part", "fields"),
    [
        ("search_policy", "Result", set(RESULT_FIELDS) | FLAGGED),
        ("list_policy_documents", "PolicyEntry", POLICY_KEYS),
        ("list_policy_revisions", "RevisionEntry", REVISION_KEYS),
    ],
)
def test_the_output_schema_names_every_field_of_what_is_listed(
    session: Session, tool: str, part: str, fields: set[str]
) -> None:
    assert set(part_of(session.tools[tool], part)["properties"]) == fields


def test_the_server_says_who_it_is_and_how_to_use_it(session: Session) -> None:
    check_introduction(session, "policy-kb-mcp")
