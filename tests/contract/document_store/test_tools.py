"""What a client is told of the server and its tools before it calls any."""

import pytest

from tests.contract.document_store.asking import (
    ALREADY_KEYS,
    CHUNK_FIELDS,
    DOCUMENT_TYPES,
    ERROR_KEYS,
    RESULT_KEYS,
    SKIPPED_KEYS,
    SUCCESS_KEYS,
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

TOOLS = {
    "ingest_document",
    "search_application_docs",
    "get_document_text",
    "list_ingested_documents",
}
PARAMETERS: list[Parameter] = [
    ("ingest_document", "file_path", {"string"}, True, NOTHING),
    ("ingest_document", "application_ref", {"string"}, True, NOTHING),
    ("ingest_document", "document_type", {"string", "null"}, False, None),
    ("search_application_docs", "query", {"string"}, True, NOTHING),
    ("search_application_docs", "application_ref", {"string", "null"}, False, None),
    ("search_application_docs", "document_types", {"array", "null"}, False, None),
    ("search_application_docs", "max_results", {"integer"}, False, 10),
    ("get_document_text", "document_id", {"string"}, True, NOTHING),
    ("list_ingested_documents", "application_ref", {"string"}, True, NOTHING),
    # Additions, which a client of the contract never sends.
    ("get_document_text", "without_overlap", {"boolean"}, False, False),
    ("get_document_text", "from_chunk", {"integer"}, False, 0),
    ("list_ingested_documents", "from_document", {"integer"}, False, 0),
]


def test_the_tools_are_exactly_the_four_of_the_contract(session: Session) -> None:
    assert set(session.tools) == TOOLS


def test_the_parameters_are_those_of_the_contract_and_three_additions(session: Session) -> None:
    assert parameters_of(session) == {(tool, parameter) for tool, parameter, *_ in PARAMETERS}


@pytest.mark.parametrize(("tool", "parameter", "types", "required", "default"), PARAMETERS)
def test_a_parameter_has_its_type_and_default(
    session: Session, tool: str, parameter: str, types: set[str], required: bool, default: object
) -> None:
    check_parameter(session, tool, parameter, types, required, default)


def test_document_types_is_a_list_of_strings(session: Session) -> None:
    schema = session.tools["search_application_docs"].input_schema
    [array] = [
        option
        for option in schema["properties"]["document_types"]["anyOf"]
        if option["type"] == "array"
    ]
    assert array["items"]["type"] == "string"


@pytest.mark.parametrize(
    ("tool", "parameter"),
    [("ingest_document", "document_type"), ("search_application_docs", "document_types")],
)
def test_a_model_is_told_all_thirteen_types(session: Session, tool: str, parameter: str) -> None:
    description = session.tools[tool].input_schema["properties"][parameter]["description"]
    assert all(kind in description for kind in DOCUMENT_TYPES)


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_a_tool_has_a_title_a_description_and_annotations(session: Session, tool: str) -> None:
    check_annotations(session.tools[tool], read_only=tool != "ingest_document")


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_the_schemas_are_valid_and_closed_to_unknown_parameters(
    session: Session, tool: str
) -> None:
    check_schemas(session.tools[tool])


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("ingest_document", [{*SUCCESS_KEYS, "warnings"}, ALREADY_KEYS, SKIPPED_KEYS, ERROR_KEYS]),
        (
            "search_application_docs",
            [{"status", "query", "results_count", "results", "truncated"}, ERROR_KEYS],
        ),
        (
            "get_document_text",
            [
                {
                    "status",
                    "document_id",
                    "file_path",
                    "document_type",
                    "chunk_count",
                    "text",
                    "next_chunk",
                    "hidden_text",
                },
                ERROR_KEYS,
            ],
        ),
        (
            "list_ingested_documents",
            [
                {"status", "application_ref", "document_count", "documents", "next_document"},
                ERROR_KEYS,
            ],
        ),
    ],
)
def test_the_output_schema_names_every_answer_of_the_contract(
    session: Session, tool: str, expected: list[set[str]]
) -> None:
    shapes = shapes_of(session.tools[tool])
    assert [set(shape["properties"]) for shape in shapes] == expected


def test_the_output_schema_of_a_search_names_every_field_of_a_result(session: Session) -> None:
    tool = session.tools["search_application_docs"]
    assert set(part_of(tool, "Result")["properties"]) == RESULT_KEYS
    assert set(part_of(tool, "ChunkMetadata")["properties"]) == {*CHUNK_FIELDS, "hidden_text"}


def test_the_server_says_who_it_is_and_how_to_use_it(session: Session) -> None:
    check_introduction(session, "document-store-mcp")
