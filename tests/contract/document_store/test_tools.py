"""What the tool definitions of this server say that others do not."""

import pytest

from tests.contract.document_store.asking import (
    DOCUMENT_TYPES,
)
from tests.contract.session import Session


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
