"""What a client learns of each server and its tools before it calls any."""

from collections.abc import Collection

import pytest

from tests.contract.contracts import CONTRACTS
from tests.contract.resources import check_icon
from tests.contract.session import Session
from tests.contract.tools import (
    Parameter,
    check_annotations,
    check_introduction,
    check_parameter,
    check_schemas,
    parameters_of,
    part_of,
    shapes_of,
)

Sessions = dict[str, Session]

TOOLS = [(name, tool) for name, one in CONTRACTS.items() for tool in sorted(one.tools)]
WITHOUT_DATA = [
    (name, tool) for name, one in CONTRACTS.items() for tool in sorted(one.without_data)
]
PARAMETERS = [
    pytest.param(name, parameter, id=f"{name}-{parameter[0]}-{parameter[1]}")
    for name, one in CONTRACTS.items()
    for parameter in one.parameters
]
ANSWERS = [
    pytest.param(name, tool, one.answers[tool], id=f"{name}-{tool}")
    for name, one in CONTRACTS.items()
    for tool in sorted(one.answers)
]
PARTS = [
    pytest.param(name, *part, id=f"{name}-{part[0]}-{part[1]}")
    for name, one in CONTRACTS.items()
    for part in one.parts
]


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_tools_are_exactly_those_of_the_contract(sessions: Sessions, name: str) -> None:
    assert set(sessions[name].tools) == CONTRACTS[name].tools


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_parameters_are_those_of_the_contract_and_its_additions(
    sessions: Sessions, name: str
) -> None:
    expected = {(tool, parameter) for tool, parameter, *_ in CONTRACTS[name].parameters}
    assert parameters_of(sessions[name]) == expected


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_a_parameter_has_its_type_and_default(
    sessions: Sessions, name: str, parameter: Parameter
) -> None:
    check_parameter(sessions[name], *parameter)


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_a_tool_has_a_title_a_description_and_annotations(
    sessions: Sessions, name: str, tool: str
) -> None:
    contract = CONTRACTS[name]
    check_annotations(
        sessions[name].tools[tool],
        read_only=tool in contract.reading,
        destructive=tool in contract.deleting,
    )


@pytest.mark.parametrize(("name", "tool"), sorted(set(TOOLS) - set(WITHOUT_DATA)))
def test_the_schemas_are_valid_and_closed_to_unknown_parameters(
    sessions: Sessions, name: str, tool: str
) -> None:
    check_schemas(sessions[name].tools[tool])


@pytest.mark.parametrize(("name", "tool"), WITHOUT_DATA)
def test_a_tool_that_shows_announces_no_data(sessions: Sessions, name: str, tool: str) -> None:
    described = sessions[name].tools[tool]
    assert described.output_schema is None
    assert described.input_schema["additionalProperties"] is False


@pytest.mark.parametrize(("name", "tool", "answers"), ANSWERS)
def test_the_output_schema_names_every_answer_of_the_contract(
    sessions: Sessions, name: str, tool: str, answers: list[Collection[str]]
) -> None:
    shapes = shapes_of(sessions[name].tools[tool])
    assert [set(shape["properties"]) for shape in shapes] == [set(one) for one in answers]


@pytest.mark.parametrize(("name", "tool", "part", "fields"), PARTS)
def test_the_output_schema_names_every_field_of_an_object(
    sessions: Sessions, name: str, tool: str, part: str, fields: Collection[str]
) -> None:
    assert set(part_of(sessions[name].tools[tool], part)["properties"]) == set(fields)


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_server_says_who_it_is_and_how_to_use_it(sessions: Sessions, name: str) -> None:
    check_introduction(sessions[name], CONTRACTS[name].calls_itself)


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_server_has_an_icon(sessions: Sessions, name: str) -> None:
    check_icon(sessions[name])
