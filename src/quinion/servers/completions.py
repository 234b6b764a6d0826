"""Completions for partly typed arguments of prompts and resource URIs."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from quinion.errors import QuinionError

MAX_COMPLETIONS = 100
"""Maximum that the protocol allows in one answer."""

FindNames = Callable[[str, Mapping[str, str]], Awaitable[Iterable[str]]]
"""Returns all values of an argument, given its name and the arguments already chosen."""


def complete_by(server: MCPServer[Any], find: FindNames) -> None:
    """Register completions for the arguments of the server's prompts and resources.

    An argument name has the same meaning everywhere in a server. If an argument depends on one
    that is missing or wrong, the answer is empty rather than an error: the user is still typing.
    """

    @server.completion()  # type: ignore[no-untyped-call,untyped-decorator]
    async def complete(
        _: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        chosen = context.arguments if context else None
        try:
            names = await find(argument.name, chosen or {})
        except QuinionError:
            return None
        return match(names, argument.value)


def match(names: Iterable[str], begun: str) -> Completion:
    """Match names that contain the text, those that start with it first."""
    folded = begun.casefold()
    found = [name for name in dict.fromkeys(names) if folded in name.casefold()]
    found.sort(key=lambda name: not name.casefold().startswith(folded))
    return Completion(
        values=found[:MAX_COMPLETIONS],
        total=len(found),
        has_more=len(found) > MAX_COMPLETIONS,
    )
