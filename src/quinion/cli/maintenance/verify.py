"""`quinion verify`: check the home, and repair it with `--repair`."""

import json
from contextlib import AsyncExitStack

import anyio
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from quinion.cli.server_client import Answer, call, connect
from quinion.errors import QuinionError
from quinion.servers.registry import CATALOG
from quinion.settings import Settings


def run(settings: Settings, *, repair: bool, as_json: bool) -> int:
    """Check every server's records; return 1 if a problem is found or left after a repair."""
    answers = anyio.run(_verify, settings, repair)
    for name, answer in answers.items():
        if "problems" not in answer:
            raise QuinionError(f"Cannot verify {name}: {answer.get('message', answer)}")
    if as_json:
        typer.echo(json.dumps(answers, indent=2, ensure_ascii=False))
    else:
        _print(answers)
    return int(any(answer["problems"] for answer in answers.values()))


async def _verify(settings: Settings, repair: bool) -> dict[str, Answer]:
    async with AsyncExitStack() as stack:
        # All clients stay open, so the home is opened once and shared.
        answers = {}
        for name in CATALOG:
            client = await stack.enter_async_context(connect(settings, name))
            answers[name] = await call(client, "verify", {"repair": repair})
        return answers


def _print(answers: dict[str, Answer]) -> None:
    repaired = any(answer["repaired"] for answer in answers.values())
    table = Table("", "server", Column("records", justify="right"), "problems")
    if repaired:
        table.add_column("repaired")
    for name, answer in answers.items():
        problems = answer["problems"]
        table.add_row(
            "✗" if problems else "✓",
            name,
            f"{answer['records']:,}",
            escape("\n".join(problems)) or "none",
            *([escape("\n".join(answer["repaired"])) or "nothing"] if repaired else []),
        )
    console = Console()
    console.print(table)
    warnings = dict.fromkeys(line for answer in answers.values() for line in answer["warnings"])
    for line in warnings:
        console.print(f"[yellow]Warning:[/yellow] {escape(line)}")
