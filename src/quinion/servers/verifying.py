"""`verify`, which every server has for the command line: does all that it keeps agree?

Each server knows what must agree (its `check`); that the ledger and Chroma have the same records,
each as it was written, is asked here, for all of them.
"""

from collections.abc import Awaitable, Callable, Sequence

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from pydantic import BaseModel

from quinion.pipeline.engine import Engine
from quinion.servers.contract import make_tool, report_to
from quinion.servers.room import how_many_fit

FindProblems = Callable[[], Awaitable[list[str]]]
Mend = Callable[[], Awaitable[list[str]]]
NameCollections = Callable[[], Awaitable[Sequence[str]]]


class Verified(BaseModel):
    """What was looked at, and what is amiss."""

    records: int
    problems: list[str]
    mended: list[str] = []


def make_verify_tool(
    engine: Engine, collections: NameCollections, find_problems: FindProblems, mend: Mend
) -> Tool:
    """The tool, for a server that keeps these collections.

    `mend` sees to it that what the server keeps agrees, and says what it has done.
    """

    async def verify(ctx: Context, repair: bool = False) -> Verified:
        """Prove that what is kept agrees; mend what can be mended if `repair` is set."""
        report = report_to(ctx)
        records = 0
        problems = await engine.find_damage()
        mended: list[str] = []
        names = await collections()
        for done, collection in enumerate(names):
            await report(done, len(names), collection)
            proof = await engine.verify(collection, repair=repair and not problems)
            records += proof.records
            problems += proof.problems
            mended += proof.mended
        if repair and not problems:  # else it is not known what is missing
            mended += await mend()
        problems += await find_problems()
        return Verified(
            records=records,
            problems=problems[: how_many_fit(problems)],
            mended=mended[: how_many_fit(mended)],
        )

    return make_tool(verify, title="Verify", read_only=False)


def named(*collections: str) -> NameCollections:
    """Always these."""

    async def name() -> Sequence[str]:
        return collections

    return name
