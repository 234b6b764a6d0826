"""Wrong arguments and unknown tools: an error in each contract's own format that names them.

What is wrong with a file, a filter or a date stands with the tests of each server.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.contract.contracts import CONTRACTS
from tests.contract.session import Session

CALLS = [
    pytest.param(name, *call, id=f"{name}-{number}-{call[2]}")
    for name, one in CONTRACTS.items()
    for number, call in enumerate(one.wrong_arguments)
]

OF_COMMANDS = [(name, tool) for name, one in CONTRACTS.items() for tool in sorted(one.of_commands)]


def refuse(session: Session, name: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """Call a tool wrongly and return the message of the error."""
    return CONTRACTS[name].refusal(session.start(tool, **arguments).reply())


@pytest.mark.parametrize(("name", "tool", "arguments", "word"), CALLS)
def test_wrong_arguments_are_named(
    sessions: dict[str, Session], name: str, tool: str, arguments: Mapping[str, Any], word: str
) -> None:
    message = refuse(sessions[name], name, tool, arguments)
    assert word in message
    assert tool in message


@pytest.mark.parametrize("name", CONTRACTS)
def test_an_unknown_tool_is_refused_and_the_tools_are_named(
    sessions: dict[str, Session], name: str
) -> None:
    session = sessions[name]
    message = refuse(session, name, "delete_everything", {"really": True})
    assert "delete_everything" in message
    assert all(tool in message for tool in session.tools)
    assert not any(f"'{tool}'" in message for tool in CONTRACTS[name].of_commands)


@pytest.mark.parametrize(("name", "tool"), OF_COMMANDS)
def test_a_tool_of_a_command_does_not_exist_for_clients(
    sessions: dict[str, Session], name: str, tool: str
) -> None:
    message = refuse(sessions[name], name, tool, {})
    assert f"There is no tool '{tool}'" in message


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_huge_tool_name_does_not_come_back_huge(sessions: dict[str, Session], name: str) -> None:
    assert len(refuse(sessions[name], name, "x" * (1 << 20), {})) < 10_000
