"""Synchronous MCP client for tests that checks every answer.

Each answer is validated against the tool's output schema, its text is compared with its structured
content, and its size with what clients take.
"""

import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import anyio
import jsonschema  # type: ignore[import-untyped]
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client import ClientExtension, Transport
from mcp.client.session import ClientRequestContext, ElicitationFnT
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from quinion.servers.base import as_json, serving

T = TypeVar("T")
Answer = dict[str, Any]
Progress = tuple[float, float | None, str | None]
Ask = Callable[[str], ElicitResult]
"""Answer of the client's user to an elicitation of the server."""

LARGEST = 1 << 20
"""Maximum size of a server-sent event for Python clients of the SDK."""
PATIENCE_S = 60.0
"""Timeout for events that must happen; long enough for a busy machine."""


class Job:
    """A call in progress."""

    def __init__(self, validator: Any, patience_s: float) -> None:
        self.progress: list[Progress] = []
        self._validator = validator
        self._patience_s = patience_s
        self._reported = threading.Event()
        self._future: Future[CallToolResult]

    def begin(self, portal: BlockingPortal, client: Client, name: str, arguments: Answer) -> "Job":
        """Send the request."""
        self._future = portal.start_task_soon(self._call, client, name, arguments)
        return self

    def wait_for_progress(self) -> None:
        """Wait for the first progress report of the server."""
        assert self._reported.wait(PATIENCE_S), "no progress was reported"

    def cancel(self) -> None:
        """Cancel the call, as a client does when its user presses Stop."""
        assert not self._future.done(), "the call ended before it could be cancelled"
        self._future.cancel()

    def cancel_if_running(self) -> None:
        """Cancel the call unless it has been answered."""
        self._future.cancel()

    def forget(self) -> None:
        """Ignore the outcome of the call, because its connection or server is about to close."""
        self._future.add_done_callback(lambda future: future.cancelled() or future.exception())

    @property
    def is_running(self) -> bool:
        return not self._future.done()

    def result(self) -> Answer:
        """Return the checked answer."""
        return check_answer(self.reply())

    def reply(self) -> CallToolResult:
        """Return the complete answer with any content; it must fit into one server-sent event, and
        its data must match the output schema.

        An unknown tool has no schema and no validator.
        """
        result = self._future.result(self._patience_s)
        assert len(as_json(result)) < LARGEST
        if self._validator is not None:
            self._validator.validate(result.structured_content)
        return result

    async def _call(self, client: Client, name: str, arguments: Answer) -> CallToolResult:
        with anyio.fail_after(self._patience_s):
            return await client.call_tool(name, arguments, progress_callback=self._report)

    async def _report(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))
        self._reported.set()


class Session:
    """An open MCP session with a server.

    `command` marks a session of one of quinion's own commands with a server in this process.
    """

    def __init__(self, portal: BlockingPortal, client: Client, *, command: bool = False) -> None:
        self.client = client
        self._portal = portal
        self._command = command
        self.tools = {tool.name: tool for tool in portal.call(client.list_tools).tools}
        self._validators = {
            name: jsonschema.Draft202012Validator(tool.output_schema)
            for name, tool in self.tools.items()
            if tool.output_schema is not None
        }
        self.patience_s = PATIENCE_S

    def start(self, tool: str, **arguments: Any) -> Job:
        """Call a tool without waiting for the answer."""
        job = Job(self._validators.get(tool), self.patience_s)
        with serving(command=self._command):
            return job.begin(self._portal, self.client, tool, arguments)

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool and return its answer."""
        return self.start(tool, **arguments).result()

    def do(self, method: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        """Call another method of the client and return its answer."""
        return self._portal.call(method, *arguments)


@contextmanager
def open_session(
    server: str | Transport | StdioServerParameters, mode: str = "auto", ask: Ask | None = None
) -> Iterator[Session]:
    """Connect to an address, over a transport, or to a command, on an event loop of its own."""
    with start_blocking_portal() as portal, connect(portal, server, mode, ask) as session:
        yield session


@contextmanager
def connect(
    portal: BlockingPortal,
    server: str | Transport | StdioServerParameters | MCPServer[Any],
    mode: str = "auto",
    ask: Ask | None = None,
    *,
    command: bool = False,
    extensions: Sequence[ClientExtension] = (),
) -> Iterator[Session]:
    """Connect on this event loop; to a server object, which must be on the same loop, directly.

    With `ask`, the client declares that it supports elicitation. A `command` of quinion may call
    the unlisted tools of a server object. `extensions` are those that the client supports.
    """
    client = Client(
        server,
        mode=mode,
        elicitation_callback=_asking(ask) if ask else None,
        extensions=extensions,
    )
    with ExitStack() as stack:
        with serving(command=command):
            stack.enter_context(portal.wrap_async_context_manager(client))
        yield Session(portal, client, command=command)


def _asking(ask: Ask) -> ElicitationFnT:
    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return ask(params.message)

    return answer


def check_answer(result: CallToolResult) -> Answer:
    """Return the structured answer after comparing it with the text."""
    answer = result.structured_content
    assert isinstance(answer, dict)
    [content] = result.content
    assert isinstance(content, TextContent)
    assert json.loads(content.text) == answer
    return answer
