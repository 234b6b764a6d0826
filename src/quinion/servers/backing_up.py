"""`back_up`, for the command line: an archive of the home that this engine has.

It is written into the home and nowhere else, whoever asks for it; the command takes it from there.
"""

from mcp.server.mcpserver.tools import Tool
from pydantic import BaseModel

from quinion.engine import Engine
from quinion.servers.base import make_tool


class BackedUp(BaseModel):
    """Where the archive is."""

    path: str


def make_backup_tool(engine: Engine) -> Tool:
    """The tool; one server of a home is enough to have it."""

    async def back_up() -> BackedUp:
        """Write all that the home keeps into one file in it."""
        return BackedUp(path=str(await engine.back_up()))

    return make_tool(back_up, title="Back up", read_only=False)
