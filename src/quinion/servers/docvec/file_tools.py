"""The tool of the console, which lists files with their states."""

from typing import Annotated

from mcp.server.mcpserver.tools import Tool
from pydantic import Field

from quinion.ingest.folders.folder_index import FolderIndex
from quinion.servers.base import PathText, make_tool
from quinion.servers.docvec.answers import FilesAnswer
from quinion.servers.docvec.failures import answer, search_failure
from quinion.servers.docvec.index_contents import list_files

MAX_PAGE = 500


def make_console_tools(index: FolderIndex) -> list[Tool]:
    """Create the tool that lists files in the console, which is hidden from clients."""

    async def page_files(
        folder: PathText | None = None,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 100,
    ) -> FilesAnswer:
        """List a part of the files with their states."""
        return FilesAnswer(await answer(list_files(index, folder, offset, limit), search_failure))

    return [make_tool(page_files, title="List a part of the files", read_only=True)]
