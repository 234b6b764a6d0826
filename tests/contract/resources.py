"""Client-side helpers for resources, prompts and completions of a server."""

import base64
import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from mcp import MCPError
from mcp.types import (
    INVALID_PARAMS,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

from quinion.servers.base import as_json
from tests.contract.session import LARGEST, Answer, Session

LARGEST_ICON = 1 << 10


def read(session: Session, address: str, mime_type: str = "text/plain") -> str:
    """Read a text resource; fails if it is too large for some client."""
    result = session.do(session.client.read_resource, address)
    assert len(as_json(result)) < LARGEST
    [content] = result.contents
    assert isinstance(content, TextResourceContents)
    assert (str(content.uri), content.mime_type) == (address, mime_type)
    return content.text


def read_json(session: Session, address: str) -> Answer:
    """Read a JSON resource."""
    answer: Answer = json.loads(read(session, address, "application/json"))
    return answer


def read_parts(session: Session, address: str) -> list[str]:
    """Read a long text part by part, without the continuation lines."""
    parts = []
    following: str | None = address
    while following:
        text = read(session, following)
        found = re.search(r"\n\n\[This is not the end\. The text goes on at (\S+)\]$", text)
        parts.append(text[: found.start()] if found else text)
        following = found[1] if found else None
    return parts


def refused(session: Session, address: str) -> str:
    """Return the error message for an invalid resource request."""
    with pytest.raises(MCPError) as caught:
        read(session, address)
    assert caught.value.error.code == INVALID_PARAMS
    return caught.value.error.message


def addresses(session: Session) -> list[str]:
    """Return the URIs of the listed resources; each must have a title and a description."""
    listed = session.do(session.client.list_resources).resources
    for resource in listed:
        assert resource.name
        assert resource.title
        assert resource.description
        assert resource.mime_type
    return [str(resource.uri) for resource in listed]


def templates(session: Session) -> list[str]:
    """Return the URI templates; each must have a title and a description."""
    listed = session.do(session.client.list_resource_templates).resource_templates
    for template in listed:
        assert template.title
        assert template.description
        assert template.mime_type
    return [template.uri_template for template in listed]


def complete(session: Session, of: str, name: str, begun: str = "", **chosen: str) -> list[str]:
    """Return the completions of an argument of a template or prompt."""
    reference = (
        ResourceTemplateReference(type="ref/resource", uri=of)
        if "://" in of
        else PromptReference(type="ref/prompt", name=of)
    )
    argument = {"name": name, "value": begun}
    result = session.do(session.client.complete, reference, argument, chosen or None)
    return result.completion.values


def prompts(session: Session) -> dict[str, dict[str, bool]]:
    """Return the prompts, with each argument and whether it is required; checks descriptions."""
    listed = session.do(session.client.list_prompts).prompts
    for prompt in listed:
        assert prompt.title
        assert prompt.description
        assert all(argument.description for argument in prompt.arguments or ())
    return {
        prompt.name: {argument.name: bool(argument.required) for argument in prompt.arguments or ()}
        for prompt in listed
    }


def fill(session: Session, prompt: str, **arguments: str) -> str:
    """Return the text of a prompt with these arguments: one user message."""
    [message] = session.do(session.client.get_prompt, prompt, arguments).messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    return message.content.text


def unfilled(session: Session, prompt: str, **arguments: str) -> str:
    """Return the error message for an invalid prompt request."""
    with pytest.raises(MCPError) as caught:
        fill(session, prompt, **arguments)
    assert caught.value.error.code == INVALID_PARAMS
    return caught.value.error.message


def check_icon(session: Session) -> None:
    """Assert that the server has one icon: a small embedded image that needs no download."""
    named = session.client.server_info
    assert named is not None
    assert named.icons is not None
    [icon] = named.icons
    assert (icon.mime_type, icon.sizes) == ("image/svg+xml", ["any"])
    head, _, data = icon.src.partition(",")
    assert head == "data:image/svg+xml;base64"
    assert len(icon.src) < LARGEST_ICON
    drawing = ElementTree.fromstring(base64.b64decode(data))
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(drawing) > 0


def steps(session: Session, tool: str, **arguments: Any) -> list[tuple[float, float | None]]:
    """Return the progress reports of a tool call; the answer is ignored."""
    job = session.start(tool, **arguments)
    job.reply()
    assert all(message for *_, message in job.progress)
    return [(done, total) for done, total, _ in job.progress]
