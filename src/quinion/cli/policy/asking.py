"""How a command of `quinion policy` reaches the registry and the Policy KB's tools.

Imports are made where they are needed: whoever asks for `--help`, or has the shell complete a
command, waits for none of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quinion.errors import QuinionError
from quinion.model.dates import parse_date
from quinion.model.revisions import Plan
from quinion.settings import Settings

if TYPE_CHECKING:
    from quinion.cli.client import Answer
    from quinion.store.policies import PolicyRegistry

Source = Annotated[str, typer.Argument(help="Source slug, e.g. NPPF.")]
RevisionId = Annotated[str, typer.Argument(help="Revision ID, e.g. rev_NPPF_2024_12.")]


@contextmanager
def open_policies() -> Iterator["PolicyRegistry"]:
    """The registry, for as long as this lasts."""
    from quinion.servers.policy_kb import REGISTRY_FILE
    from quinion.store.policies import open_registry

    settings = Settings.from_environment()
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    registry = open_registry(settings.home / REGISTRY_FILE, settings.redis_url)
    try:
        yield registry
    finally:
        registry.close()


def call_tool(tool: str, arguments: "Answer", title: str = "") -> "Answer":
    """The answer of one of the Policy KB's tools, with a progress bar where it has a title.

    Raises:
        QuinionError: it answered with an error.
    """
    import anyio
    from rich.console import Console
    from rich.progress import Progress

    from quinion.cli.client import call, connect
    from quinion.servers.policy_kb import NAME

    async def run() -> "Answer":
        async with connect(Settings.from_environment(), NAME) as client:
            console = Console(stderr=True)
            with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
                bar = bars.add_task(title, total=None, visible=bool(title))

                async def show(done: float, total: float | None, _message: str | None) -> None:
                    bars.update(bar, completed=done, total=total)

                return await call(client, tool, arguments, show)

    answer = anyio.run(run)
    if answer.get("status") == "error":
        raise QuinionError(answer["message"])
    return answer


def bring_into_step(plan: Plan) -> None:
    """Have the dates on chunks follow now, not at the next dated search."""
    if any(revision.chunk_count for revision in (plan.revision, *plan.others)):
        call_tool("bring_into_step", {})


def parse_end(text: str | None) -> date | None:
    """A last day; None for no end."""
    return None if text is None else parse_date(text)


def plain(plan: Plan) -> dict[str, Any]:
    """What became of the registry, for programs."""
    return {"revision": asdict(plan.revision), "others": [asdict(other) for other in plan.others]}


def gave_way(plan: Plan) -> str:
    """Which other revisions end earlier now, for people."""
    return "".join(f" {other.revision_id} ends on {other.effective_to}." for other in plan.others)
