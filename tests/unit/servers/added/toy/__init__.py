"""Toy server: one folder. `test_added_server` adds it to the catalog with one line."""

from typing import Annotated, Literal

from mcp.server.mcpserver.tools import Tool
from pydantic import BaseModel, Field

from quinion.engine import Engine
from quinion.servers.auth import Refusal
from quinion.servers.base import Answer, ContractServer, make_tool
from quinion.servers.maintenance import fixed_collections, make_verify_tool
from quinion.store.base import Selector

NOTES = "toy_notes"


class Counted(BaseModel):
    """Number of notes."""

    status: Literal["success"] = "success"
    notes: int


class Failed(BaseModel):
    """The toy's error format."""

    status: Literal["toy error"] = "toy error"
    message: str


CountAnswer = Answer[Annotated[Counted | Failed, Field(discriminator="status")]]


def build(engine: Engine) -> ContractServer:
    """Build the server on this engine."""
    server = ContractServer(
        "toy-mcp",
        title="Toy",
        instructions="Count notes.",
        tools=[_make_tool(engine)],
        unlisted=[make_verify_tool(engine, fixed_collections(NOTES), _find_problems)],
        make_error=lambda _, message: Failed(message=message),
    )

    @server.resource("toy://guide", title="Guide")
    def guide() -> str:
        return "Count the notes."

    return server


def word_refusal(_: Refusal) -> str:
    """Return the 401 message."""
    return "No toys for you"


def _make_tool(engine: Engine) -> Tool:
    async def count_notes() -> CountAnswer:
        """Count the notes."""
        notes = await engine.collections.count(Selector.everything(NOTES))
        return CountAnswer(Counted(notes=notes))

    return make_tool(count_notes, title="Count notes", read_only=True)


async def _find_problems() -> list[str]:
    return []
