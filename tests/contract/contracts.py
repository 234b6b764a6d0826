"""What each server promises, as data for the tests that hold for every server of the catalog.

Each server's folder has a module `contract` with its `CONTRACT`. A server without one fails here.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from mcp.types import CallToolResult

from quinion.servers.registry import CATALOG
from tests.contract.endpoints import BAD_AUTHORIZATIONS
from tests.contract.process import Home
from tests.contract.session import Session
from tests.contract.tools import Parameter

UNAUTHORIZED = "Missing or invalid authentication token"
REFUSALS = {case: (given, UNAUTHORIZED) for case, given in BAD_AUTHORIZATIONS.items()}


@dataclass(frozen=True)
class Contract:
    """The promises of one server.

    `answers` has the fields of each possible answer of a tool, and `parts` the fields of objects
    inside answers. `of_commands` are tools that only quinion's own commands can call.
    `wrong_arguments` are calls, each with a word of the error. `refusal` returns
    the message of an error about the input, and fails unless it is in the contract's format.
    `converse` uses the tools once from the first to the last, in its own part of a home.
    """

    name: str
    calls_itself: str
    port: int
    reading: Collection[str]
    parameters: Sequence[Parameter]
    refusal: Callable[[CallToolResult], str]
    wrong_arguments: Sequence[tuple[str, Mapping[str, Any], str]]
    bad_settings: Sequence[tuple[str, str]]
    converse: Callable[[Session, Home, Path], None]
    of_commands: Collection[str]
    writing: Collection[str] = ()
    deleting: Collection[str] = ()
    without_data: Collection[str] = ()
    answers: Mapping[str, Sequence[Collection[str]]] = field(default_factory=dict)
    parts: Sequence[tuple[str, str, Collection[str]]] = ()
    refusals: Mapping[str, tuple[str | None, str]] = field(default_factory=lambda: REFUSALS)

    @property
    def tools(self) -> set[str]:
        return {*self.reading, *self.writing, *self.deleting}

    @property
    def program(self) -> str:
        return f"{self.name}-mcp"


def _load(name: str) -> Contract:
    module = import_module(f"tests.contract.{name.replace('-', '_')}.contract")
    contract: Contract = module.CONTRACT
    return contract


CONTRACTS = {name: _load(name) for name in CATALOG}
