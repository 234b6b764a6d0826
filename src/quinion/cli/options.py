"""Shared options, and output as text or JSON."""

import json
import os
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


def confirm(question: str, yes: bool) -> None:
    """Ask the user to confirm, unless `yes`; abort the command on refusal."""
    if not yes:
        typer.confirm(question, abort=True, err=True)


def override(**variables: str | None) -> dict[str, str]:
    """Return the environment with the variables that options set."""
    return {**os.environ, **{name: value for name, value in variables.items() if value}}


def print_json(data: Any) -> None:
    """Print one JSON document; dates and paths become strings."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def print_result(as_json: bool, data: Any, line: str) -> None:
    """Print the data as JSON, or the line as text."""
    if as_json:
        print_json(data)
    else:
        typer.echo(line)


def name_servers() -> list[str]:
    """List the servers, for shell completion."""
    from quinion.servers.registry import CATALOG

    return list(CATALOG)


def name_clients() -> list[str]:
    """List the MCP clients, for shell completion."""
    from quinion.cli.connect.clients import CLIENTS

    return list(CLIENTS)
