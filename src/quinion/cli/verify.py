"""`quinion verify`: does everything that the home keeps agree? With `--repair`, see to it."""

import json
from contextlib import AsyncExitStack

import anyio
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from quinion.cli.client import Answer, call, connect
from quinion.errors import QuinionError
from quinion.servers.catalog import CATALOG
from quinion.settings import Settings


def run(settings: Settings, *, repair: bool, as_json: bool) -> int:
    """Look at everything; 1 when something is amiss, or stays so."""
    answers = anyio.run(_verify, settings, repair)
    for name, answer in answers.items():
        if "problems" not in answer:
            raise QuinionError(f"{name} can't be verified: {answer.get('message', answer)}")
    if as_json:
        typer.echo(json.dumps(answers, indent=2, ensure_ascii=False))
    else:
        _print(answers)
    return int(any(answer["problems"] for answer in answers.values()))


async def _verify(settings: Settings, repair: bool) -> dict[str, Answer]:
    async with AsyncExitStack() as stack:
        # Each while those before are open: the home is opened once, and they share it.
        answers = {}
        for name in CATALOG:
            client = await stack.enter_async_context(connect(settings, name))
            answers[name] = await call(client, "verify", {"repair": repair})
        return answers


def _print(answers: dict[str, Answer]) -> None:
    repaired = any(answer["mended"] for answer in answers.values())
    table = Table("", "server", Column("records", justify="right"), "problems")
    if repaired:
        table.add_column("mended")
    for name, answer in answers.items():
        problems = answer["problems"]
        table.add_row(
            "✗" if problems else "✓",
            name,
            f"{answer['records']:,}",
            escape("\n".join(problems)) or "none",
            *([escape("\n".join(answer["mended"])) or "nothing"] if repaired else []),
        )
    Console().print(table)
