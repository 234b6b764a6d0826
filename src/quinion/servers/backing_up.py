"""The `back_up` tool for the command line: archive the home of the running engine.

The archive is always written inside the home, so a client cannot choose where files are written.
The command moves it from there.
"""

from mcp.server.mcpserver.tools import Tool
from pydantic import BaseModel

from quinion.engine import Engine
from quinion.servers.base import make_tool


class BackedUp(BaseModel):
    """Path of the archive."""

    path: str


def make_backup_tool(engine: Engine) -> Tool:
    """Create the tool. Only one server per home needs to offer it."""

    async def back_up() -> BackedUp:
        """Write a backup of the entire home into one file inside the home."""
        return BackedUp(path=str(await engine.back_up()))

    return make_tool(back_up, title="Back up", read_only=False)
