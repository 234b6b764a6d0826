"""`verify`, which every server has for the command line: does all that it keeps agree?

Each server knows what must agree (its `check`); that every stored text still has its vector is
asked here, for all of them.
"""

from collections.abc import Awaitable, Callable, Sequence

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from pydantic import BaseModel

from quinion.pipeline.engine import Engine
from quinion.servers.contract import make_tool, report_to
from quinion.servers.room import how_many_fit

FindProblems = Callable[[], Awaitable[list[str]]]


class Verified(BaseModel):
    """What was looked at, and what is amiss."""

    records: int
    problems: list[str]


def make_verify_tool(
    engine: Engine, collections: Sequence[str], find_problems: FindProblems
) -> Tool:
    """The tool, for a server that keeps these collections."""

    async def verify(ctx: Context) -> Verified:
        """Prove that what is kept agrees."""
        report = report_to(ctx)
        records = 0
        problems = await find_problems()
        for done, collection in enumerate(collections):
            await report(done, len(collections), collection)
            count, lost = await engine.find_lost_vectors(collection)
            records += count
            problems += [f"{collection}: the vector of {id_} is lost" for id_ in lost]
        return Verified(records=records, problems=problems[: how_many_fit(problems)])

    return make_tool(verify, title="Verify", read_only=True)
