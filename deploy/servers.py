"""Descriptions of the five servers for bundles and for the MCP registry.

A bundle's manifest (MCPB 0.4) and the registry's `server.json` (schema 2025-12-11) have the same
content, so both are generated from one table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mistral_ocr_mcp

import quinion
from quinion.settings import Settings

NAMESPACE = "io.github.quinion"
"""Namespace in the registry. The publisher must prove ownership, here of a GitHub organisation. The
registry also checks that the README on the package index contains the names."""

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
ENTRY_POINT = "src/server.py"
PYTHON = ">=3.11"
"""Python of the bundles, which the pins are made for; the client's `uv` installs it if missing."""


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that the user may set; folders get a file picker."""

    name: str
    title: str
    description: str
    is_folder: bool = False
    is_secret: bool = False
    is_required: bool = False

    @property
    def key(self) -> str:
        """The name of the variable in a manifest."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Server:
    """A server, its distribution and how it is started."""

    name: str
    title: str
    description: str
    package: str
    version: str
    start: str
    """The console script's function, as `module:function`."""
    arguments: tuple[str, ...]
    """Arguments of `uvx PACKAGE` that make it serve on stdio."""
    licence: str
    variables: tuple[Variable, ...]


def _ours(name: str, title: str, is_folder: bool = False, is_secret: bool = False) -> Variable:
    """Describe a variable of quinion with the text from its settings."""
    [description] = [
        field.description or ""
        for field in Settings.model_fields.values()
        if field.validation_alias == name
    ]
    return Variable(name, title, description, is_folder, is_secret)


def _quinion(name: str, title: str, description: str, *more: Variable) -> Server:
    return Server(
        name=name,
        title=title,
        description=description,
        package="quinion",
        version=quinion.__version__,
        start=f"quinion.cli.scripts:{name.replace('-', '_')}",
        arguments=("stdio", name),
        licence="AGPL-3.0-or-later",
        variables=(
            _ours("QUINION_HOME", "Home", is_folder=True),
            _ours("QUINION_READ_ROOTS", "Folder to read from", is_folder=True),
            *more,
        ),
    )


SERVERS = (
    _quinion(
        "document-store",
        "Document Store",
        "Semantic search in the documents of planning applications, with pages to cite.",
    ),
    _quinion(
        "policy-kb",
        "Policy KB",
        "Planning policies and their revisions: search or read the text in force on a date.",
    ),
    _quinion(
        "docvec",
        "DocVec",
        "Semantic search in your own folders: notes, documentation, PDFs, text, Python.",
    ),
    _quinion(
        "doclibrary",
        "Document library",
        "Find and show figures, tables, equations and pages of technical PDFs.",
        _ours("DOCLIBRARY_VISION_URL", "Vision model URL"),
        _ours("DOCLIBRARY_VISION_MODEL", "Vision model name"),
        _ours("DOCLIBRARY_VISION_API_KEY", "Vision model API key", is_secret=True),
    ),
    Server(
        name="mistral-ocr",
        title="Mistral OCR",
        description="Convert a PDF or an image to Markdown and image files with Mistral OCR.",
        package="mistral-ocr-mcp",
        version=mistral_ocr_mcp.__version__,
        start="mistral_ocr_mcp.cli:main",
        arguments=(),
        licence="MIT",
        variables=(
            Variable(
                "MISTRAL_API_KEY",
                "Mistral API key",
                "Your key for the Mistral API.",
                is_secret=True,
                is_required=True,
            ),
            Variable(
                "MISTRAL_OCR_ALLOWED_DIR",
                "Folder to write to",
                "The folder at or below which files may be written.",
                is_folder=True,
                is_required=True,
            ),
            Variable(
                "MISTRAL_SERVER_URL",
                "Server URL",
                "A self-hosted endpoint instead of Mistral's.",
            ),
        ),
    ),
)


def describe_for_registry(server: Server) -> dict[str, Any]:
    """Build the registry's `server.json`."""
    arguments = [{"type": "positional", "value": value} for value in server.arguments]
    return {
        "$schema": SCHEMA,
        "name": f"{NAMESPACE}/{server.name}",
        "title": server.title,
        "description": server.description,
        "version": server.version,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": server.package,
                "version": server.version,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                **({"packageArguments": arguments} if arguments else {}),
                "environmentVariables": [_input(variable) for variable in server.variables],
            }
        ],
    }


def describe_for_bundle(server: Server, tools: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Build a bundle's `manifest.json`; `tools` are names and descriptions."""
    return {
        "manifest_version": "0.4",
        "name": server.name,
        "display_name": server.title,
        "version": server.version,
        "description": server.description,
        "author": {"name": "The quinion authors"},
        "icon": "icon.png",
        "license": server.licence,
        "server": {
            "type": "uv",
            "entry_point": ENTRY_POINT,
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", ENTRY_POINT],
                "env": {v.name: f"${{user_config.{v.key}}}" for v in server.variables},
            },
        },
        "tools": [{"name": name, "description": description} for name, description in tools],
        "compatibility": {
            "platforms": ["darwin", "linux"],
            "runtimes": {"python": PYTHON},
        },
        "user_config": {variable.key: _option(variable) for variable in server.variables},
    }


def _input(variable: Variable) -> dict[str, Any]:
    found: dict[str, Any] = {"name": variable.name, "description": variable.description}
    if variable.is_required:
        found["isRequired"] = True
    if variable.is_secret:
        found["isSecret"] = True
    if variable.is_folder:
        found["format"] = "filepath"
    return found


def _option(variable: Variable) -> dict[str, Any]:
    option: dict[str, Any] = {
        "type": "directory" if variable.is_folder else "string",
        "title": variable.title,
        "description": variable.description,
        "required": variable.is_required,
    }
    if variable.is_secret:
        option["sensitive"] = True
    if not variable.is_required:
        # Without a default, Claude Desktop passes the name of the option as its value.
        option["default"] = ""
    return option
