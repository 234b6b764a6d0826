"""`quinion policy …`: the registry of policies, and the texts of their revisions.

What concerns the registry alone goes straight to it, which is safe beside a running server.
What concerns texts goes through the Policy KB's tools, in this process or in the one that has
the home. Dates on chunks follow the registry: at once where the home is free, else before the
next dated search of the process that has it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from quinion.cli.client import Answer, call, connect
from quinion.cli.timeline import draw_timeline
from quinion.errors import HomeInUse, InvalidInput, PolicyExists, QuinionError, RevisionMissing
from quinion.model.dates import parse_date
from quinion.model.policy import (
    KEEP,
    SEED_POLICIES,
    PolicyCategory,
    PolicyDraft,
    Revision,
    RevisionDraft,
    RevisionEdit,
)
from quinion.model.revisions import EffectiveDateResolver, Plan, Resolution, plan_deletion
from quinion.pipeline.engine import open_engine
from quinion.servers import policy_kb
from quinion.settings import Settings
from quinion.store.registry import PolicyRegistry, open_registry

app = typer.Typer(help="Policies, their revisions, and which was in force when.")

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Source = Annotated[str, typer.Argument(help="Source slug, e.g. NPPF.")]
RevisionId = Annotated[str, typer.Argument(help="Revision ID, e.g. rev_NPPF_2024_12.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Day = Annotated[str, typer.Option("--date", help="YYYY-MM-DD.")]


@app.command()
def create(
    source: Source,
    title: Annotated[str, typer.Option(help="The policy's title.")],
    category: Annotated[PolicyCategory, typer.Option(help="What kind of policy it is.")],
    description: Annotated[str, typer.Option(help="A sentence about it.")] = "",
    json: Json = False,
) -> None:
    """Register a policy.

    Example: quinion policy create NPPF --title "National Planning Policy Framework"
    --category national_policy
    """
    with _registry() as registry:
        policy = registry.create_policy(PolicyDraft(source, title, category, description))
    _tell(json, asdict(policy), f"{source} is registered.")


@app.command()
def revise(
    source: Source,
    label: Annotated[str, typer.Option(help="What people call it, e.g. December 2024.")],
    start: Annotated[str, typer.Option("--from", help="First day in force, YYYY-MM-DD.")],
    end: Annotated[str | None, typer.Option("--to", help="Last day in force.")] = None,
    file: Annotated[Path | None, typer.Option(help="Its PDF, to be ingested.")] = None,
    json: Json = False,
) -> None:
    """Register a revision of a policy; the one that it follows ends the day before.

    Example: quinion policy revise NPPF --label "December 2024" --from 2024-12-12 --file nppf.pdf
    """
    draft = RevisionDraft(label, parse_date(start), _parse_end(end))
    _check_file(file)
    with _registry() as registry:
        plan = registry.create_revision(source, draft)
    _bring_into_step(plan)
    revision_id = plan.revision.revision_id
    _tell(json and file is None, _plain(plan), f"{revision_id} is registered.{_gave_way(plan)}")
    if file is not None:
        raise typer.Exit(_ingest(source, revision_id, file, reindex=False, as_json=json))


@app.command()
def edit(
    source: Source,
    revision: RevisionId,
    label: Annotated[str | None, typer.Option(help="New label.")] = None,
    start: Annotated[str | None, typer.Option("--from", help="New first day.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="New last day; `open` for none.")] = None,
    json: Json = False,
) -> None:
    """Change the label or the dates of a revision; the dates on its text follow.

    Example: quinion policy edit NPPF rev_NPPF_2023_09 --to 2024-12-11
    """
    change = RevisionEdit(
        version_label=KEEP if label is None else label,
        effective_from=KEEP if start is None else parse_date(start),
        effective_to=KEEP if end is None else _parse_end(None if end == "open" else end),
    )
    with _registry() as registry:
        plan = registry.edit_revision(source, revision, change)
    _bring_into_step(plan)
    _tell(json, _plain(plan), f"{revision} is in force {plan.revision.period}.{_gave_way(plan)}")


@app.command()
def delete(source: Source, revision: RevisionId, yes: Yes = False, json: Json = False) -> None:
    """Delete a revision, its text and its entry. The only active one may not be deleted."""
    with _registry() as registry:
        plan_deletion(source, registry.list_revisions(source), revision)
        _ask(f"Delete {revision} of {source} and its text?", yes)
        _call("remove_policy_revision", {"source": source, "revision_id": revision})
        deleted = registry.delete_revision(source, revision)
    _tell(json, asdict(deleted), f"{revision} is deleted.")


@app.command("list")
def list_policies(json: Json = False) -> None:
    """List the registered policies."""
    with _registry() as registry:
        policies = registry.list_policies()
    if json:
        _print_json([asdict(policy) for policy in policies])
        return
    table = Table("source", "title", "category")
    for policy in policies:
        table.add_row(policy.source, policy.title, policy.category)
    Console().print(table if policies else "No policy is registered. See: quinion policy create")


@app.command()
def revisions(source: Source, json: Json = False) -> None:
    """List the revisions of a policy, with a timeline."""
    with _registry() as registry:
        shelf = registry.list_revisions(source)
    if json:
        _print_json([asdict(revision) for revision in shelf])
        return
    table = Table("revision", "label", "in force", "status", "chunks")
    for r in shelf:
        table.add_row(r.revision_id, r.version_label, r.period, r.status, str(r.chunk_count))
    console = Console()
    console.print(table if shelf else f"{source} has no revisions. See: quinion policy revise")
    for line in draw_timeline(shelf, datetime.now(UTC).date(), console.width):
        console.print(line, highlight=False)


@app.command()
def ingest(
    source: Source,
    revision: RevisionId,
    file: Annotated[Path, typer.Argument(help="Its PDF.")],
    json: Json = False,
) -> None:
    """Ingest the text of a registered revision."""
    _check_file(file)
    raise typer.Exit(_ingest(source, revision, file, reindex=False, as_json=json))


@app.command()
def reindex(
    source: Source,
    revision: RevisionId,
    file: Annotated[Path | None, typer.Argument(help="Its PDF; default: as before.")] = None,
    json: Json = False,
) -> None:
    """Ingest the text of a revision again, in the place of what is there."""
    if file is None:
        with _registry() as registry:
            file = registry.get_revision(source, revision).file_path
    if file is None:
        raise InvalidInput(f"{revision} has never been ingested. Name its PDF.")
    _check_file(file)
    raise typer.Exit(_ingest(source, revision, file, reindex=True, as_json=json))


@app.command()
def remove(source: Source, revision: RevisionId, yes: Yes = False, json: Json = False) -> None:
    """Remove the text of a revision; its entry stays."""
    with _registry() as registry:
        registry.get_revision(source, revision)
    _ask(f"Remove the text of {revision} of {source}?", yes)
    answer = _call("remove_policy_revision", {"source": source, "revision_id": revision})
    _tell(json, answer, f"{answer['chunks_removed']} chunks of {revision} are removed.")


@app.command()
def resolve(source: Source, day: Day, json: Json = False) -> None:
    """Say which revision of a policy was in force on a day."""
    on = parse_date(day)
    with _registry() as registry:
        resolution = EffectiveDateResolver(registry).resolve_for_policy(source, on)
    _tell(json, asdict(resolution), _describe(resolution))


@app.command()
def snapshot(day: Day, json: Json = False) -> None:
    """Say which revision of every policy was in force on a day."""
    on = parse_date(day)
    with _registry() as registry:
        resolutions = EffectiveDateResolver(registry).resolve_snapshot(on)
    if json:
        _print_json({source: asdict(resolution) for source, resolution in resolutions.items()})
        return
    table = Table("source", "revision", "label", "in force")
    for source, found in resolutions.items():
        r = found.revision
        row = (r.revision_id, r.version_label, r.period) if r else ("—", "", str(found.reason))
        table.add_row(source, *row)
    Console().print(table)


@app.command()
def check(json: Json = False) -> None:
    """Check that the registry and the stored texts agree."""
    problems = anyio.run(_check)
    _tell(json, {"problems": problems}, "\n".join(problems) or "Registry and texts agree.")
    raise typer.Exit(int(bool(problems)))
