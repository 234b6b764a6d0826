"""Access of the `quinion policy` commands to the registry and the Policy KB's tools.

Imports are inside the functions, to keep `--help` and shell completion fast.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quinion.model.dates import parse_date
from quinion.model.policy import Revision
from quinion.model.revisions import Plan
from quinion.settings import Settings

if TYPE_CHECKING:
    from quinion.cli.server_client import Answer
    from quinion.store.policies import PolicyRegistry

Source = Annotated[str, typer.Argument(help="Source slug, e.g. NPPF.")]
RevisionId = Annotated[str, typer.Argument(help="Revision ID, e.g. rev_NPPF_2024_12.")]

_COMPARABLE = 2


@contextmanager
def open_policies() -> Iterator["PolicyRegistry"]:
    """Open the policy registry for the duration of the block."""
    from quinion.home import check_restored
    from quinion.servers.policy_kb import REGISTRY_FILE
    from quinion.store.policies import open_registry

    settings = Settings.from_environment()
    check_restored(settings.home)
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    registry = open_registry(settings.home / REGISTRY_FILE, settings.redis_url, settings.database)
    try:
        yield registry
    finally:
        registry.close()


def call_tool(tool: str, arguments: "Answer", title: str = "") -> "Answer":
    """Call a tool of the Policy KB; a title adds a progress bar.

    Raises:
        QuinionError: the tool returned an error.
    """
    from quinion.cli.server_client import run_tool
    from quinion.servers.policy_kb import NAME

    return run_tool(Settings.from_environment(), NAME, tool, arguments, title)


def update_chunk_dates(plan: Plan) -> None:
    """Update the dates stored with the chunks now, not at the next dated search."""
    if any(revision.chunk_count for revision in (plan.revision, *plan.others)):
        call_tool("bring_into_step", {})


def find_changed_shares(source: str, revisions: Sequence[Revision]) -> dict[str, float]:
    """Return which share of its text changed in each revision, where two have a text."""
    if sum(bool(revision.chunk_count) for revision in revisions) < _COMPARABLE:
        return {}
    shares = {}
    following: int | None = 0
    while following is not None:
        arguments = {"source": source, "from_revision": following, "changes": True}
        answer = call_tool("list_policy_revisions", arguments)
        for entry in answer["revisions"]:
            if entry["changes"]["changed_share"] is not None:
                shares[entry["revision_id"]] = entry["changes"]["changed_share"]
        following = answer["next_revision"]
    return shares


def parse_end(text: str | None) -> date | None:
    """Parse a last day; None means open-ended."""
    return None if text is None else parse_date(text)


def dump_plan(plan: Plan) -> dict[str, Any]:
    """Return the changes to the registry as JSON data."""
    return {"revision": asdict(plan.revision), "others": [asdict(other) for other in plan.others]}


def describe_shortened(plan: Plan) -> str:
    """Describe the other revisions whose end date changed."""
    return "".join(f" {other.revision_id} ends on {other.effective_to}." for other in plan.others)
