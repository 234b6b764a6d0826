"""Server for the suite: `python -m tests.conformance.suite.server` with MCP_API_KEY set.

It prints its address once it is reachable, and exits on SIGTERM.
"""

import json
from typing import Any

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    EmptyResult,
    InputRequiredResult,
    PromptReference,
    ResourceTemplateReference,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel

from quinion.servers.base import ContractServer, make_tool
from quinion.servers.http import LOOPBACK, Endpoint, serve
from quinion.settings import Settings
from tests.conformance.suite import contents, questions

WORDS = ["paris", "park", "party"]


class Refusal(BaseModel):
    """The shape of an error of this server."""

    error: str
    message: str


def build() -> ContractServer:
    """The server with all that the suite looks for."""
    tools = [
        make_tool(function, title=function.__name__, read_only=True)
        for function in (*contents.TOOLS, *questions.TOOLS)
    ]
    for tool in tools:
        if tool.name == contents.json_schema_2020_12_tool.__name__:
            tool.parameters = contents.SCHEMA_2020_12
    server = ContractServer(
        "conformance",
        title="Conformance",
        instructions="For the conformance suite.",
        tools=tools,
        make_error=lambda code, message: Refusal(error=code, message=message),
    )
    _add_resources(server)
    _add_prompts(server)
    _add_handshake_methods(server)
    return server


def _add_resources(server: ContractServer) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        """A text."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        """A picture."""
        return contents.PNG

    @server.resource("test://watched-resource", mime_type="text/plain")
    def watched_resource() -> str:
        """A text that can be subscribed to."""
        return "Watched."

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        """Data for an id."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def _add_prompts(server: ContractServer) -> None:
    @server.prompt()
    def test_simple_prompt() -> str:
        """A text."""
        return "This is a simple prompt for testing."

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """A text with two words in it."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
        """A resource and a text."""
        embedded = contents.resource(resourceUri, "Embedded resource content for testing.")
        asked = UserMessage("Please process the embedded resource above.")
        return [UserMessage(embedded), asked]

    @server.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        """A picture and a text."""
        return [UserMessage(contents.IMAGE), UserMessage("Please analyze the image above.")]

    @server.prompt()
    def test_input_required_result_prompt(
        ctx: Context[Any, Any],
    ) -> list[UserMessage] | InputRequiredResult:
        """Asks the client's user first."""
        told = questions.filled(ctx, "user_context", "context")
        if told is None:
            asked = questions.form("What context should the prompt use?", "context")
            return questions.ask(user_context=asked)
        return [UserMessage(f"With this in mind: {told}")]

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:
        values = [word for word in WORDS if word.startswith(argument.value)]
        return Completion(values=values, total=len(values), has_more=False)


def _add_handshake_methods(server: ContractServer) -> None:
    """What protocols before 2026 have and the SDK's `MCPServer` has no way to offer.

    No server of quinion offers them; its inner server is reached into for the suite alone.
    """

    async def done(ctx: object, params: object) -> EmptyResult:
        return EmptyResult()

    inner = server._lowlevel_server
    inner.add_request_handler("logging/setLevel", SetLevelRequestParams, done)
    inner.add_request_handler("resources/subscribe", SubscribeRequestParams, done)
    inner.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, done)


async def main() -> None:
    """Serve until SIGTERM."""

    async def on_ready(addresses: dict[str, str]) -> None:
        print(addresses["conformance"], flush=True)

    settings = Settings.from_environment()
    assert settings.api_key is not None, "the suite is run with a token"
    site = Endpoint("conformance", build(), lambda refusal: refusal.value, LOOPBACK, 0)
    await serve([site], settings, on_ready)


if __name__ == "__main__":
    anyio.run(main)
