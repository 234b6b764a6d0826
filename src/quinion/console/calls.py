"""Calls of the servers' tools from the console, as quinion's own commands make them."""

from collections.abc import Callable, Mapping
from typing import Any

from mcp import Client
from mcp.types import CallToolRequest, CallToolRequestParams, CallToolResult, Implementation

from quinion import __version__
from quinion.errors import QuinionError
from quinion.servers.base import ContractServer, serving

Answer = dict[str, Any]
CLIENT = Implementation(name="quinion-console", version=__version__)


class CallFailed(QuinionError):
    """A tool answered with an error of its contract, or returned no structured answer."""

    def __init__(self, message: str, code: str = QuinionError.code) -> None:
        super().__init__(message)
        self.code = code


class Calls:
    """Calls tools of the servers in this process, by the names of the catalog."""

    def __init__(self, servers: Mapping[str, Callable[[], ContractServer]]) -> None:
        self._servers = servers

    async def call(
        self, server: str, tool: str, arguments: Mapping[str, Any], progress: Any = None
    ) -> Answer:
        """Call a tool and return its structured answer.

        Raises:
            CallFailed: the answer is an error.
        """
        result = await self.fetch(server, tool, arguments, progress)
        answer: Answer | None = result.structured_content
        if answer is None:
            raise CallFailed(f"{tool} returned no structured answer.")
        if failure := find_failure(answer):
            raise failure
        return answer

    async def fetch(
        self, server: str, tool: str, arguments: Mapping[str, Any], progress: Any = None
    ) -> CallToolResult:
        """Call a tool and return its whole answer, which may be an error."""
        given = {name: value for name, value in arguments.items() if value is not None}
        with serving(command=True):
            # In one process a connection costs less than a millisecond.
            async with Client(self._servers[server](), client_info=CLIENT) as client:
                # Unlike `call_tool`, this does not validate the answer, which is our own.
                request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=given))
                return await client.session.send_request(
                    request, CallToolResult, progress_callback=progress
                )


def find_failure(answer: Answer) -> CallFailed | None:
    """Read the error of an answer, in the format of any contract; None if it succeeded."""
    if answer.get("status") == "error":
        return CallFailed(str(answer["message"]), str(answer.get("error_type", "")))
    if answer.get("success") is False:
        reason = answer["details"].get("reason")
        message = f"{answer['error']}: {reason}" if reason else str(answer["error"])
        return CallFailed(message, str(answer.get("error_code", "")).lower())
    if "status" not in answer and "success" not in answer and "error" in answer:
        return CallFailed(str(answer["error"]).removeprefix("Error: "))
    return None
