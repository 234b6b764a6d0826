"""Base server: every tool error is returned in the error format of the server's contract.

A server passes in its tools and one function that formats an error. Wrong arguments, unknown
tools, engine errors and bugs all reach the client in that format, never as a bare exception.
Resources and prompts are in `resources`.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from operator import not_
from typing import Annotated, Any, Generic, TypeVar

import pydantic_core
from mcp.server.apps import client_supports_apps
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import CallToolResult, Icon, InputRequiredResult, TextContent, ToolAnnotations
from mcp.types import Tool as ListedTool
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel, ValidationError

from quinion.errors import Busy, InvalidInput, QuinionError
from quinion.ingest.progress import Progress
from quinion.servers.app.app import AppListing, name_app
from quinion.servers.calls import CallObserver
from quinion.servers.resources import ReadableServer, describe_problems
from quinion.telemetry.logs import REQUEST_ID
from quinion.telemetry.metrics import CallMetrics, Family

log = logging.getLogger(__name__)


def _truncate_at(limit: int) -> AfterValidator:
    def truncate(text: str) -> str:
        if len(text) > limit:
            log.warning("Truncated a query of %d characters to %d", len(text), limit)
        return text[:limit]

    return AfterValidator(truncate)


# Arguments are echoed in answers and messages, so they must leave space for the answer itself.
QueryText = Annotated[str, _truncate_at(20_000)]
MoreQueryText = Annotated[str, _truncate_at(1_000)]
"""One of several queries of a call."""
PathText = Annotated[str, Field(max_length=4_096)]
Name = Annotated[str, Field(max_length=1_000)]
SHOWN_CHARACTERS = 100
SHOWN_NAMES = 50
MAX_CONCURRENT_READS = 256
MAX_CONCURRENT_WRITES = 256
"""Maximum concurrent calls of one server, to read-only tools and to all others. Further calls are
rejected as busy: queued, they would time out at the client and slow down all others."""

_OWN_COMMAND: ContextVar[bool] = ContextVar("own_command", default=False)

T = TypeVar("T")
MakeError = Callable[[str, str], BaseModel]
"""Formats an error from its code and message."""


Truncated = Annotated[
    bool,
    Field(
        exclude_if=not_,
        description="Addition, left out where false: more results were asked for than one answer "
        "has, and there are more.",
    ),
]
FilterWarning = Annotated[
    str,
    Field(
        exclude_if=not_,
        description="Addition, left out where empty: a value of a filter that is unknown.",
    ),
]


class Answer(RootModel[T], Generic[T]):
    """Union of answer models; protocol versions before 2026 require the schema type `object`."""

    model_config = ConfigDict(json_schema_extra={"type": "object"})


def make_tool(
    function: Callable[..., Any], *, title: str, read_only: bool, destructive: bool = False
) -> Tool:
    """Create a tool that rejects unknown arguments and is annotated as never going online."""
    tool = Tool.from_function(
        function,
        title=title,
        annotations=ToolAnnotations(
            title=title,
            read_only_hint=read_only,
            destructive_hint=destructive,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )
    tool.parameters["additionalProperties"] = False
    return tool


@contextmanager
def serving(*, command: bool) -> Iterator[None]:
    """Say whether the calls of this context come from a command, which may use unlisted tools."""
    before = _OWN_COMMAND.get()
    _OWN_COMMAND.set(command)
    try:
        yield
    finally:
        _OWN_COMMAND.set(before)


def is_command() -> bool:
    """Whether the current call comes from a command of quinion."""
    return _OWN_COMMAND.get()


class ContractServer(ReadableServer):
    """MCP server whose tools return every failure in the error format of its contract."""

    def __init__(
        self,
        name: str,
        *,
        title: str,
        instructions: str,
        tools: Sequence[Tool],
        make_error: MakeError,
        render: Callable[[Any], str] | None = None,
        unlisted: Sequence[Tool] = (),
        shown_by_app: Collection[str] = (),
        app_tools: Sequence[Tool] = (),
        warm: Callable[[], Awaitable[object]] | None = None,
        icon: Icon | None = None,
        documents: str = "",
        chunks: str = "",
    ) -> None:
        """Create the server.

        `make_error` formats an error and `render` turns it into text, by default JSON.
        `unlisted` tools serve quinion's own commands (`serving`); for all other clients they do
        not exist. The MCP App shows the results of the tools `shown_by_app` and calls the
        `app_tools`, which exist for clients that support Apps. The daemon calls `warm` once the
        server can be reached, to make the first answer fast. `documents` and `chunks` are the
        collections whose sizes are metrics.
        """
        shown = {tool.name: tool for tool in name_app(t for t in tools if t.name in shown_by_app)}
        called = {tool.name: tool for tool in name_app(app_tools, only=True)}
        self._known = {tool.name: tool for tool in (*tools, *unlisted)} | shown | called
        super().__init__(
            name,
            title=title,
            instructions=instructions,
            tools=list(self._known.values()),
            icon=icon,
            has_app=bool(shown_by_app),
        )
        self._unlisted = {tool.name for tool in unlisted}
        self._app_tools = called.keys()
        self._make_error = make_error
        self._warm = warm
        self._render = render or as_json
        self._active_calls = {True: 0, False: 0}
        self._counted = {"documents": documents, "chunks": chunks}
        self.calls = CallMetrics(name.removesuffix("-mcp"))
        self.middleware.append(CallObserver(self.calls, self._known.__contains__))
        self.middleware.append(AppListing(self._find_app_tools, self.find_app_resources))

    def measure(self, count: Callable[[str], int]) -> Iterator[Family]:
        """Yield the metrics of its calls and its collections; `count` counts the latter."""
        yield from self.calls.collect()
        for what, collection in self._counted.items():
            if collection:
                family = Family(f"quinion_{what}", "gauge", f"Stored {what}.")
                yield family.add(count(collection), server=self.calls.server)

    async def warm(self) -> None:
        """Load what the first call would otherwise have to wait for."""
        if self._warm:
            await self._warm()

    async def run_on(
        self, read: ReadStream[SessionMessage | Exception], write: WriteStream[SessionMessage]
    ) -> None:
        """Serve one client on these message streams until it disconnects."""
        server = self._lowlevel_server
        await server.run(read, write, server.create_initialization_options())

    async def list_tools(self) -> list[ListedTool]:
        """List the tools of the contract."""
        hidden = self._unlisted | self._app_tools
        return [tool for tool in await super().list_tools() if tool.name not in hidden]

    async def _find_app_tools(self) -> list[ListedTool]:
        return [tool for tool in await super().list_tools() if tool.name in self._app_tools]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool and return what it raises as an error of the contract."""
        try:
            self._check_names(name, arguments, context)
            with self._limit_concurrency(self._known[name]):
                await self._report_progress(name, context, 0)
                result = await super().call_tool(name, arguments, context)
        except (InvalidInput, Busy) as error:
            return self._error_result(error.code, error.message)
        except ToolError as error:
            return self._error_result(*_describe_error(name, error.__cause__ or error))
        if isinstance(result, CallToolResult):
            await self._report_progress(name, context, 1)
        return result

    @contextmanager
    def _limit_concurrency(self, tool: Tool) -> Iterator[None]:
        """Count a running call, or raise `Busy` at the limit."""
        reads = bool(tool.annotations and tool.annotations.read_only_hint)
        limit = MAX_CONCURRENT_READS if reads else MAX_CONCURRENT_WRITES
        if self._active_calls[reads] >= limit:
            raise Busy(
                f"The server is busy: {limit} calls that {'read' if reads else 'write'} are under "
                f"way. {tool.name} was not begun; try again in a few seconds."
            )
        self._active_calls[reads] += 1
        try:
            yield
        finally:
            self._active_calls[reads] -= 1

    async def _report_progress(
        self, name: str, context: Context[Any, Any] | None, done: int
    ) -> None:
        """Report the start and the end of a call, because even a short call waits for the model
        or the store on first use. A tool that takes the context reports its own progress."""
        tool = self._known[name]
        if context is not None and tool.context_kwarg is None:
            await context.report_progress(done, 1, f"{tool.title}: {'done' if done else 'begun'}")

    def _check_names(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None
    ) -> None:
        listed = self._known.keys() - self._unlisted - self._app_tools
        allowed = self._known.keys() if _OWN_COMMAND.get() else listed
        if context is not None and client_supports_apps(context):
            allowed = allowed | self._app_tools
        if name not in allowed:
            raise InvalidInput(
                f"There is no tool {_quote_names([name])}. There are: "
                f"{_quote_names(known for known in self._known if known in listed)}."
            )
        known = self._known[name].parameters["properties"]
        if unknown := sorted(arguments.keys() - known.keys()):
            raise InvalidInput(
                f"{name} has no parameter {_quote_names(unknown)}. "
                f"Its parameters are: {_quote_names(known)}."
            )

    def _error_result(self, code: str, message: str) -> CallToolResult:
        answer = self._make_error(code, message)
        return CallToolResult(
            content=[TextContent(type="text", text=self._render(answer))],
            structured_content=answer.model_dump(mode="json"),
        )


def report_to(ctx: Context[Any, Any]) -> Progress:
    """Create a callback that sends the engine's progress to the calling client."""

    async def report(done: float, total: float, message: str) -> None:
        await ctx.report_progress(done, total, message)

    return report


def as_json(answer: BaseModel) -> str:
    """Serialize an answer to JSON, formatted as the SDK does."""
    return pydantic_core.to_json(answer, indent=2).decode()


def _describe_error(tool: str, cause: BaseException) -> tuple[str, str]:
    if isinstance(cause, QuinionError):
        return cause.code, cause.message
    if isinstance(cause, ValidationError):
        problems = describe_problems(cause)
        return InvalidInput.code, f"{tool} was called with wrong arguments. {problems}."
    if isinstance(cause, ToolError):
        # Raised by the SDK only; our tools do not raise it.
        return (
            InvalidInput.code,
            f"{tool} asked the user for input, and the client sent no valid answer.",
        )
    log.error("%s failed unexpectedly", tool, exc_info=cause)
    return (
        QuinionError.code,
        f"{tool} failed unexpectedly ({type(cause).__name__}). This is a bug in the server; "
        f"see its log for details{f' of request {id_}' if (id_ := REQUEST_ID.get()) else ''}.",
    )


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(repr(name[:SHOWN_CHARACTERS]) for name in islice(names, SHOWN_NAMES))
