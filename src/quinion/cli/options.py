"""Options that many commands have, and how an answer is printed for people or for programs."""

import json
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def ask(question: str, yes: bool) -> None:
    """Have the user agree, unless that was said already; who does not ends the command."""
    if not yes:
        typer.confirm(question, abort=True, err=True)


def print_json(data: Any) -> None:
    """One JSON document, dates and paths as text."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def tell(as_json: bool, data: Any, line: str) -> None:
    """The data for programs, or the line for people."""
    if as_json:
        print_json(data)
    else:
        typer.echo(line)
