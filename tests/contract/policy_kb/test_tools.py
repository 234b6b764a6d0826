"""What the tool definitions of this server say that others do not."""

import pytest

from tests.contract.session import Session

# What is asked here does not depend on where the registry is.
pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)


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
