"""An MCP client as the tests use it: without async, and with a check of every answer.

Whatever a test asks for, each answer is held against the tool's own output schema, and its
text against its structured content.
"""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import anyio
import jsonschema  # type: ignore[import-untyped]
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client import Transport
from mcp.types import CallToolResult, TextContent

Answer = dict[str, Any]
Progress = tuple[float, float | None, str | None]

PATIENCE_S = 60.0
"""How long a test waits for what must happen, on a machine that has other work too."""


class Job:
    """A call that is under way."""

    def __init__(self, validator: Any) -> None:
        self.progress: list[Progress] = []
        self._validator = validator
        self._reported = threading.Event()
        self._future: Future[CallToolResult]

    def begin(self, portal: BlockingPortal, client: Client, name: str, arguments: Answer) -> "Job":
        """Send the request."""
        self._future = portal.start_task_soon(self._call, client, name, arguments)
        return self

    def wait_for_progress(self) -> None:
        """Wait until the server has said for the first time how far it is."""
        assert self._reported.wait(PATIENCE_S), "no progress was reported"

    def cancel(self) -> None:
        """Lose interest, as a client does whose user presses Stop."""
        assert not self._future.done(), "the call ended before it could be cancelled"
        self._future.cancel()

    def cancel_if_running(self) -> None:
        """Cancel, unless the answer has come in the meantime."""
        self._future.cancel()

    def forget(self) -> None:
        """Let the call end as it may, because its connection or its server is about to."""
        self._future.add_done_callback(lambda future: future.cancelled() or future.exception())

    @property
    def is_running(self) -> bool:
        return not self._future.done()

    def result(self) -> Answer:
        """The answer, after it was checked."""
        return check_answer(self._validator, self._future.result(PATIENCE_S))

    async def _call(self, client: Client, name: str, arguments: Answer) -> CallToolResult:
        with anyio.fail_after(PATIENCE_S):
            return await client.call_tool(name, arguments, progress_callback=self._report)

    async def _report(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))
        self._reported.set()


class Session:
    """An open MCP session with a server."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.client = client
        self._portal = portal
        self.tools = {tool.name: tool for tool in portal.call(client.list_tools).tools}
        self._validators = {
            name: jsonschema.Draft202012Validator(tool.output_schema)
            for name, tool in self.tools.items()
        }

    def start(self, tool: str, **arguments: Any) -> Job:
        """Call a tool, and do not wait for the answer."""
        job = Job(self._validators.get(tool))
        return job.begin(self._portal, self.client, tool, arguments)

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool, and wait for the answer."""
        return self.start(tool, **arguments).result()


@contextmanager
def open_session(
    server: str | Transport | StdioServerParameters, mode: str = "auto"
) -> Iterator[Session]:
    """Connect as any client does: to an address, over a transport, or to a command."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server, mode=mode)) as client,
    ):
        yield Session(portal, client)


def check_answer(validator: Any, result: CallToolResult) -> Answer:
    """The structured answer; its text says the same, and its shape is the one announced.

    An unknown tool has announced nothing, and has no validator.
    """
    answer = result.structured_content
    assert isinstance(answer, dict)
    [content] = result.content
    assert isinstance(content, TextContent)
    assert json.loads(content.text) == answer
    if validator is not None:
        validator.validate(answer)
    return answer
