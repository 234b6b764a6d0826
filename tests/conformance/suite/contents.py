"""Suite tools for each kind of content, errors, logs, progress and schemas."""

import base64
import io
import wave
from collections.abc import Callable
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context
from mcp.types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)
from PIL import Image
from pydantic import Field

PAUSE_S = 0.05


def _png() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (1, 1), "red").save(file, "PNG")
    return file.getvalue()


def _wav() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(16))
    return file.getvalue()


PNG = _png()
IMAGE = ImageContent(data=base64.b64encode(PNG).decode(), mime_type="image/png")
SOUND = AudioContent(data=base64.b64encode(_wav()).decode(), mime_type="audio/wav")


def text(words: str) -> TextContent:
    """Words as content."""
    return TextContent(text=words)


def resource(uri: str, words: str, mime_type: str = "text/plain") -> EmbeddedResource:
    """A resource inside of an answer."""
    return EmbeddedResource(resource=TextResourceContents(uri=uri, text=words, mime_type=mime_type))


def answer(*content: ContentBlock, failed: bool = False) -> CallToolResult:
    """An answer of content alone."""
    return CallToolResult(content=list(content), is_error=failed)


def test_simple_text() -> CallToolResult:
    """A text."""
    return answer(text("This is a simple text response for testing."))


def test_image_content() -> CallToolResult:
    """A picture."""
    return answer(IMAGE)


def test_audio_content() -> CallToolResult:
    """A sound."""
    return answer(SOUND)


def test_embedded_resource() -> CallToolResult:
    """A resource."""
    return answer(resource("test://embedded-resource", "This is an embedded resource content."))


def test_multiple_content_types() -> CallToolResult:
    """A text, a picture and a resource."""
    data = resource(
        "test://mixed-content-resource", '{"test":"data","value":123}', "application/json"
    )
    return answer(text("Multiple content types test:"), IMAGE, data)


def test_error_handling() -> CallToolResult:
    """An error that the model may read."""
    return answer(text("This tool intentionally returns an error for testing"), failed=True)


async def test_tool_with_logging(ctx: Context[Any, Any]) -> CallToolResult:
    """Three lines of log, and a text."""
    await ctx.info("Tool execution started")
    await anyio.sleep(PAUSE_S)
    await ctx.info("Tool processing data")
    await anyio.sleep(PAUSE_S)
    await ctx.info("Tool execution completed")
    return answer(text("Logged."))


async def test_logging_tool(ctx: Context[Any, Any]) -> CallToolResult:
    """A line of log, which a client of 2026 does not get unless it asks."""
    await ctx.info("This is for those who asked")
    return answer(text("Logged."))


async def test_tool_with_progress(ctx: Context[Any, Any]) -> CallToolResult:
    """Progress, three times."""
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100)
        await anyio.sleep(PAUSE_S)
    return answer(text("Done."))


async def test_reconnection(ctx: Context[Any, Any]) -> CallToolResult:
    """Closes its stream before it answers, where streams can be taken up again."""
    await ctx.close_sse_stream()
    await anyio.sleep(PAUSE_S)
    return answer(text("Reconnected."))


async def test_trigger_tool_change(ctx: Context[Any, Any]) -> CallToolResult:
    """Tells subscribers that the tools are others."""
    await ctx.notify_tools_changed()
    return answer(text("Told."))


async def test_trigger_prompt_change(ctx: Context[Any, Any]) -> CallToolResult:
    """Tells subscribers that the prompts are others."""
    await ctx.notify_prompts_changed()
    return answer(text("Told."))


def test_custom_header(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
) -> CallToolResult:
    """Has a parameter that a client of 2026 sends as a header too."""
    return answer(text(region))


def json_schema_2020_12_tool() -> CallToolResult:
    """Has a schema with keywords that must reach the client, see `SCHEMA_2020_12`."""
    return answer(text("Seen."))


SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

TOOLS: list[Callable[..., Any]] = [
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_tool_with_logging,
    test_logging_tool,
    test_tool_with_progress,
    test_reconnection,
    test_trigger_tool_change,
    test_trigger_prompt_change,
    test_custom_header,
    json_schema_2020_12_tool,
]
