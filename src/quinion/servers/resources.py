"""What every server offers beside its tools: resources and prompts that fail in plain words.

A value in a resource's address is looked up in the index, and no file is opened by it. So it
may look like a path: references have slashes, and files are known by where they are.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from mcp import MCPError
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import (
    ResourceError,
    ResourceNotFoundError,
    UnexpectedResourceError,
)
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.server.mcpserver.tools import Tool
from mcp.shared.uri_template import UriTemplate
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    GetPromptResult,
    Icon,
    InputRequiredResult,
)
from mcp.types import Resource as ListedResource
from pydantic import AnyUrl, ValidationError

from quinion import __version__
from quinion.errors import (
    DocumentMissing,
    ElementMissing,
    FileMissing,
    InvalidDate,
    InvalidInput,
    PolicyProblem,
    QuinionError,
)
from quinion.servers.response_size import how_many_fit

MAX_LISTED = 100
"""Resources that are found in the index, in one list: clients show all of them at once."""
MAX_URI_LENGTH = 40_000
"""The longest path that is taken in, each of its characters encoded."""
SHOWN_CHARACTERS = 200
SHOWN_PROBLEMS = 50

_LOOKUP_SECURITY = ResourceSecurity(reject_path_traversal=False, reject_absolute_paths=False)
_CLIENT_ERRORS = (
    DocumentMissing,
    ElementMissing,
    FileMissing,
    InvalidDate,
    InvalidInput,
    PolicyProblem,
)

FindListed = Callable[[], Awaitable[Sequence[ListedResource]]]


class ReadableServer(MCPServer[Any]):
    """An MCP server whose resources and prompts say what is wrong and what to do."""

    def __init__(
        self, name: str, *, title: str, instructions: str, tools: list[Tool], icon: Icon | None
    ) -> None:
        super().__init__(
            name,
            title=title,
            instructions=instructions,
            icons=[icon] if icon else None,
            version=__version__,
            tools=tools,
            resource_security=_LOOKUP_SECURITY,
        )
        self._find_listed: FindListed | None = None

    def add_listing(self, find: FindListed) -> None:
        """List these resources too, as many of them as a list may have."""
        self._find_listed = find

    async def list_resources(self) -> list[ListedResource]:
        """The resources that have an address of their own."""
        listed = await super().list_resources()
        if self._find_listed:
            try:
                found = await self._find_listed()
            except QuinionError as error:
                raise MCPError(code=INTERNAL_ERROR, message=error.message) from error
            listed += found[: min(MAX_LISTED, how_many_fit(found))]
        return listed

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource; what is raised meanwhile is told to the client."""
        if len(str(uri)) > MAX_URI_LENGTH:
            # An error would say it twice.
            message = f"The address has {len(str(uri))} characters; {MAX_URI_LENGTH} are allowed."
            raise MCPError(code=INVALID_PARAMS, message=message)
        try:
            return await super().read_resource(uri, context)
        except ResourceNotFoundError as error:
            raise ResourceNotFoundError(f"{error}. {await self._describe_uris()}") from error
        except UnexpectedResourceError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ResourceNotFoundError(
                    f"{uri} is wrong. {describe_problems(cause)}."
                ) from cause
            if isinstance(cause, _CLIENT_ERRORS):
                raise ResourceNotFoundError(cause.message) from cause
            if isinstance(cause, QuinionError):
                raise ResourceError(cause.message) from cause
            raise

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[Any, Any] | None = None,
    ) -> GetPromptResult | InputRequiredResult:
        """Fill a prompt in; an argument that cannot be meant is told to the client."""
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            match _unwrap(error):
                case QuinionError() as cause:
                    message = cause.message
                case ValidationError() as cause:
                    message = f"The arguments of {name} are wrong. {describe_problems(cause)}."
                case ValueError() as cause:
                    known = ", ".join(prompt.name for prompt in await self.list_prompts())
                    reason = str(cause)[:SHOWN_CHARACTERS]
                    message = f"{reason}. The prompts are: {known or 'none'}."
                case _:
                    raise
            raise MCPError(code=INVALID_PARAMS, message=message) from error

    async def _describe_uris(self) -> str:
        static = [str(resource.uri) for resource in await super().list_resources()]
        templates = [template.uri_template for template in await self.list_resource_templates()]
        return (
            f"There are: {', '.join([*static, *templates]) or 'none'}. What stands for a name in "
            "braces is percent-encoded."
        )


def fill_uri(template: str, **values: str | int) -> str:
    """The template with these values in it, encoded whole."""
    # A `+` lets people write slashes as they are; ours are encoded, and so is all the rest.
    parsed = UriTemplate.parse(template.replace("{+", "{"))
    return parsed.expand({name: str(value) for name, value in values.items()})


def add_continuation(text: str, where: str | None) -> str:
    """The text and, where it is not the end, a line that says where it goes on."""
    return f"{text}\n\n[This is not the end. The text goes on at {where}]" if where else text


def describe_problems(error: ValidationError) -> str:
    """What is wrong with each argument."""
    return "; ".join(
        f"{'.'.join(map(str, problem['loc']))[:SHOWN_CHARACTERS]}: {problem['msg']}"
        for problem in error.errors()[:SHOWN_PROBLEMS]
    )


def _unwrap(error: BaseException) -> BaseException:
    """What went wrong in a prompt; the SDK wraps it in errors of this one type."""
    while type(error) is ValueError and error.__cause__ is not None:
        error = error.__cause__
    return error
