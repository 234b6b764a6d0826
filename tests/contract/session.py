"""An MCP client as the tests use it: without async, and with a check of every answer.

Whatever a test asks for, each answer is held against the tool's own output schema, and its
text against its structured content.
"""

import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

import anyio
import jsonschema  # type: ignore[import-untyped]
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client import Transport
from mcp.client.session import ClientRequestContext, ElicitationFnT
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

T = TypeVar("T")
Answer = dict[str, Any]
Progress = tuple[float, float | None, str | None]
Ask = Callable[[str], ElicitResult]
"""What a client's user says to a question of the server."""

PATIENCE_S = 60.0
"""How long a test waits for what must happen, on a machine that has other work too."""


class Job:
    """A call that is under way."""

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
        return check_answer(self.reply())

    def reply(self) -> CallToolResult:
        """The answer whole, whatever content it has; its data has the shape that is announced.

        An unknown tool has announced nothing, and has no validator.
        """
        result = self._future.result(self._patience_s)
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
    """An open MCP session with a server."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.client = client
        self._portal = portal
        self.tools = {tool.name: tool for tool in portal.call(client.list_tools).tools}
        self._validators = {
            name: jsonschema.Draft202012Validator(tool.output_schema)
            for name, tool in self.tools.items()
            if tool.output_schema is not None
        }
        self.patience_s = PATIENCE_S

    def start(self, tool: str, **arguments: Any) -> Job:
        """Call a tool, and do not wait for the answer."""
        job = Job(self._validators.get(tool), self.patience_s)
        return job.begin(self._portal, self.client, tool, arguments)

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool, and wait for the answer."""
        return self.start(tool, **arguments).result()

    def do(self, method: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        """Call another method of the client, and wait for the answer."""
        return self._portal.call(method, *arguments)


@contextmanager
def open_session(
    server: str | Transport | StdioServerParameters, mode: str = "auto", ask: Ask | None = None
) -> Iterator[Session]:
    """Connect as any client does: to an address, over a transport, or to a command.

    A client that can `ask` its user says so to the server.
    """
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            Client(server, mode=mode, elicitation_callback=_asking(ask) if ask else None)
        ) as client,
    ):
        yield Session(portal, client)


def _asking(ask: Ask) -> ElicitationFnT:
    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return ask(params.message)

    return answer


def check_answer(result: CallToolResult) -> Answer:
    """The structured answer; its text says the same."""
    answer = result.structured_content
    assert isinstance(answer, dict)
    [content] = result.content
    assert isinstance(content, TextContent)
    assert json.loads(content.text) == answer
    return answer
