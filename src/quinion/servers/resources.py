"""Resources and prompts of every server, with clear error messages.

A value in a resource URI is only looked up in the index and never used to open a file. It may
therefore look like a path: references contain slashes, and files are identified by their path.
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
from quinion.servers.app.app import APP_URI, make_app
from quinion.servers.response_size import how_many_fit

MAX_LISTED = 100
"""Maximum number of indexed resources in one list: clients show them all at once."""
MAX_URI_LENGTH = 40_000
"""Enough for the longest accepted path with every character percent-encoded."""
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
    """MCP server whose resource and prompt errors say what is wrong and what to do."""

    def __init__(
        self,
        name: str,
        *,
        title: str,
        instructions: str,
        tools: list[Tool],
        icon: Icon | None,
        has_app: bool = False,
    ) -> None:
        super().__init__(
            name,
            title=title,
            instructions=instructions,
            icons=[icon] if icon else None,
            version=__version__,
            tools=tools,
            resource_security=_LOOKUP_SECURITY,
            extensions=[make_app()] if has_app else None,
        )
        self._find_listed: FindListed | None = None

    def add_listing(self, find: FindListed) -> None:
        """Add resources that are found at request time to the list, up to its limits."""
        self._find_listed = find

    async def list_resources(self) -> list[ListedResource]:
        """List the resources with a fixed URI, followed by the indexed ones."""
        listed = await self._list_static()
        if self._find_listed:
            try:
                found = await self._find_listed()
            except QuinionError as error:
                raise MCPError(code=INTERNAL_ERROR, message=error.message) from error
            listed += found[: min(MAX_LISTED, how_many_fit(found))]
        return listed

    async def find_app_resources(self) -> list[ListedResource]:
        """Return the page of the MCP App, which is listed for clients that support Apps."""
        return [one for one in await super().list_resources() if one.uri == APP_URI]

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource and report any error to the client."""
        if len(str(uri)) > MAX_URI_LENGTH:
            # The SDK's error would repeat the URI twice.
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
        """Render a prompt and report wrong arguments to the client."""
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

    async def _list_static(self) -> list[ListedResource]:
        return [one for one in await super().list_resources() if one.uri != APP_URI]

    async def _describe_uris(self) -> str:
        static = [resource.uri for resource in await self._list_static()]
        templates = [template.uri_template for template in await self.list_resource_templates()]
        return (
            f"There are: {', '.join([*static, *templates]) or 'none'}. Values in braces must be "
            "percent-encoded."
        )


def fill_uri(template: str, **values: str | int) -> str:
    """Expand a URI template with fully percent-encoded values."""
    # `+` allows users to type plain slashes; generated URIs encode them like everything else.
    parsed = UriTemplate.parse(template.replace("{+", "{"))
    return parsed.expand({name: str(value) for name, value in values.items()})


def add_continuation(text: str, where: str | None) -> str:
    """Append a line with the URI of the next part, if there is one."""
    return f"{text}\n\n[This is not the end. The text goes on at {where}]" if where else text


def describe_problems(error: ValidationError) -> str:
    """Describe the problem with each argument."""
    return "; ".join(
        f"{'.'.join(map(str, problem['loc']))[:SHOWN_CHARACTERS]}: {problem['msg']}"
        for problem in error.errors()[:SHOWN_PROBLEMS]
    )


def _unwrap(error: BaseException) -> BaseException:
    """Return the cause of a prompt error, which the SDK wraps in plain `ValueError`s."""
    while type(error) is ValueError and error.__cause__ is not None:
        error = error.__cause__
    return error
