"""Checks of tool definitions shared by all servers: parameters, annotations, schemas."""

from typing import Any

import jsonschema  # type: ignore[import-untyped]
from mcp.types import Tool

from quinion.servers.registry import CATALOG
from tests.contract.session import Session

Parameter = tuple[str, str, set[str], bool, object]
"""Tool, parameter, types, required, default."""

NOTHING = object()
"""Marks a parameter without a default."""


def types_of(schema: dict[str, Any]) -> set[str]:
    return {option["type"] for option in schema.get("anyOf", [schema])}


def shapes_of(tool: Tool) -> list[dict[str, Any]]:
    """Return the possible objects of an answer."""
    schema = tool.output_schema
    assert schema is not None
    definitions = schema.get("$defs", {})
    return [definitions[option["$ref"].rsplit("/", 1)[-1]] for option in schema["oneOf"]]


def part_of(tool: Tool, name: str) -> dict[str, Any]:
    """Return the schema with that name, for an object inside an answer."""
    assert tool.output_schema is not None
    part: dict[str, Any] = tool.output_schema["$defs"][name]
    return part


def parameters_of(session: Session) -> set[tuple[str, str]]:
    return {
        (name, parameter)
        for name, tool in session.tools.items()
        for parameter in tool.input_schema["properties"]
    }


def check_parameter(
    session: Session, tool: str, parameter: str, types: set[str], required: bool, default: object
) -> None:
    """Assert that a parameter matches the table and has a description."""
    schema = session.tools[tool].input_schema
    described = schema["properties"][parameter]
    assert types_of(described) == types
    assert (parameter in schema.get("required", [])) is required
    assert described.get("default", NOTHING) == default
    assert described["description"]


def check_annotations(tool: Tool, *, read_only: bool, destructive: bool = False) -> None:
    """Assert that a tool has a title, a description and all hints."""
    assert tool.title
    assert tool.description
    hints = tool.annotations
    assert hints is not None
    assert hints.title == tool.title
    assert hints.read_only_hint is read_only
    assert hints.destructive_hint is destructive
    assert hints.idempotent_hint is True
    assert hints.open_world_hint is False


def check_schemas(tool: Tool) -> None:
    """Assert that both schemas are valid and that unknown parameters are rejected."""
    assert tool.output_schema is not None
    for schema in (tool.input_schema, tool.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert tool.input_schema["additionalProperties"] is False


def check_introduction(session: Session, name: str) -> None:
    """Assert that the instructions describe the server, its tools and the other servers."""
    named = session.client.server_info
    assert named is not None
    assert named.name == name
    assert named.title
    assert named.version
    instructions = session.client.instructions or ""
    assert not [tool for tool in session.tools if f"`{tool}`" not in instructions]
    others = set(CATALOG) - {name.removesuffix("-mcp")}
    assert len(others) == len(CATALOG) - 1
    assert not [other for other in others if other not in instructions]
