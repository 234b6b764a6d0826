"""`quinion verify`: does everything that the home keeps agree?"""

import json

import anyio
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from quinion.cli.client import Answer, call, connect
from quinion.errors import QuinionError
from quinion.servers.catalog import CATALOG
from quinion.settings import Settings


def run(settings: Settings, *, as_json: bool) -> int:
    """Look at everything; 1 when something is amiss."""
    answers = {name: anyio.run(_verify, settings, name) for name in CATALOG}
    if as_json:
        typer.echo(json.dumps(answers, indent=2, ensure_ascii=False))
    else:
        _print(answers)
    return int(any(answer["problems"] for answer in answers.values()))


async def _verify(settings: Settings, name: str) -> Answer:
    async with connect(settings, name) as client:
        answer = await call(client, "verify", {})
    if "problems" not in answer:
        raise QuinionError(f"{name} can't be verified: {answer.get('message', answer)}")
    return answer


def _print(answers: dict[str, Answer]) -> None:
    table = Table("", "server", Column("records", justify="right"), "problems")
    for name, answer in answers.items():
        problems = answer["problems"]
        table.add_row(
            "✗" if problems else "✓",
            name,
            f"{answer['records']:,}",
            escape("\n".join(problems)) or "none",
        )
    Console().print(table)
