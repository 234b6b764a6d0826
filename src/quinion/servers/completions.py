"""Completions: what a half-written argument of a prompt or of a resource's address may become."""

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
"""What the protocol allows in one answer."""

FindNames = Callable[[str, Mapping[str, str]], Awaitable[Iterable[str]]]
"""Finds all values of an argument, given its name and the arguments that are chosen already."""


def complete_by(server: MCPServer[Any], find: FindNames) -> None:
    """Let the arguments of the server's prompts and resources complete.

    An argument of one name means the same in all of them. One that depends on another that is
    not known, or not right, has no completions: whoever types is not told of errors.
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
    """Those that begin like this come first, then those that have it in them."""
    folded = begun.casefold()
    found = [name for name in dict.fromkeys(names) if folded in name.casefold()]
    found.sort(key=lambda name: not name.casefold().startswith(folded))
    return Completion(
        values=found[:MAX_COMPLETIONS],
        total=len(found),
        has_more=len(found) > MAX_COMPLETIONS,
    )
