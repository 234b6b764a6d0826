"""Client of the Python SDK, first or second version, that runs the scenario.

It is a separate program for the Python with that version. It reads a plan from stdin (see
`plan.py`) and prints the answers. Messages are reported as on the wire, where both versions use the
same names.
"""

import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

import anyio
import mcp
from mcp import StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

FIRST = version("mcp").startswith("1.")
Json = dict[str, Any]


def dump(message: Any) -> Json:
    """Return a message in its wire format."""
    data: Json = message.model_dump(mode="json", by_alias=True, exclude_none=True)
    return data


@asynccontextmanager
async def open_streams(plan: Json) -> AsyncIterator[Any]:
    """Connect to the server over the transport of the plan."""
    if plan["transport"] == "stdio":
        command, *arguments = plan["command"]
        parameters = StdioServerParameters(command=command, args=arguments, env=plan["env"])
        async with stdio_client(parameters) as streams:
            yield streams
    elif plan["transport"] == "sse":
        async with sse_client(plan["url"], plan["headers"]) as streams:
            yield streams
    else:
        async with http_client(plan) as http:
            async with streamable_http_client(plan["url"], http_client=http) as streams:
                yield streams


def http_client(plan: Json) -> Any:
    """Return the HTTP client of this version of the SDK."""
    httpx = import_module("httpx" if FIRST else "httpx2")
    return httpx.AsyncClient(headers=plan["headers"], timeout=plan["patience_s"])


@asynccontextmanager
async def open_session(plan: Json) -> AsyncIterator[tuple[Any, Json]]:
    """Open a session; yields it with the server's description."""
    if FIRST:
        async with open_streams(plan) as (incoming, outgoing, *_):
            async with mcp.ClientSession(incoming, outgoing) as session:
                told = dump(await session.initialize())
                yield session, told
        return
    async with mcp.Client(open_streams(plan)) as client:
        told = {
            "serverInfo": dump(client.server_info),
            "protocolVersion": client.protocol_version,
        }
        yield client, told


async def call_all(session: Any, plan: Json) -> list[Json]:
    """Make every call of the plan and record its progress reports."""
    answers = []
    for call in plan["calls"]:
        progress: list[Json] = []

        async def report(
            done: float, total: float | None, message: str | None, into: list[Json] = progress
        ) -> None:
            into.append({"progress": done, "total": total, "message": message})

        result = await session.call_tool(call["tool"], call["arguments"], progress_callback=report)
        answers.append({**dump(result), "progress": progress})
    return answers


async def read_all(session: Any, resources: list[Json], plan: Json) -> Json:
    """Read the first listed resources."""
    return {
        one["uri"]: dump(await session.read_resource(one["uri"]))["contents"]
        for one in resources[: plan["most"]]
    }


async def prompt_all(session: Any, prompts: list[Json], plan: Json) -> Json:
    """Get every prompt with the plan's arguments."""
    messages = {}
    for prompt in prompts:
        names = [wanted["name"] for wanted in prompt.get("arguments", [])]
        given = {name: plan["words"].get(name, "1") for name in names}
        messages[prompt["name"]] = dump(await session.get_prompt(prompt["name"], given))["messages"]
    return messages


async def complete_all(session: Any, templates: list[Json], prompts: list[Json]) -> Json:
    """Complete each argument of templates and prompts."""
    values = {}

    async def complete(key: str, ref: Any, name: str) -> None:
        result = await session.complete(ref, {"name": name, "value": ""})
        values[f"{key} {name}"] = dump(result)["completion"]["values"]

    for template in templates:
        uri = template["uriTemplate"]
        for names in re.findall(r"\{[+?]?([\w,]+)\}", uri):
            for name in names.split(","):
                template_ref = types.ResourceTemplateReference(type="ref/resource", uri=uri)
                await complete(uri, template_ref, name)
    for prompt in prompts:
        for wanted in prompt.get("arguments", []):
            prompt_ref = types.PromptReference(type="ref/prompt", name=prompt["name"])
            await complete(prompt["name"], prompt_ref, wanted["name"])
    return values


async def main() -> None:
    """Run the plan."""
    plan = json.load(sys.stdin)
    async with open_session(plan) as (session, told):
        tools = dump(await session.list_tools())["tools"]
        answers = await call_all(session, plan)
        resources = dump(await session.list_resources())["resources"]
        templates = dump(await session.list_resource_templates())["resourceTemplates"]
        prompts = dump(await session.list_prompts())["prompts"]
        report = {
            "server": told["serverInfo"],
            "protocol": told["protocolVersion"],
            "tools": tools,
            "answers": answers,
            "contents": await read_all(session, resources, plan),
            "messages": await prompt_all(session, prompts, plan),
            "values": await complete_all(session, templates, prompts),
        }
    print(json.dumps(report))


anyio.run(main)
