"""Commands on the policy registry alone: policies, revisions and dates."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer

from quinion.cli.options import Json, print_json, print_result
from quinion.cli.policy.calls import (
    RevisionId,
    Source,
    describe_shortened,
    dump_plan,
    find_changed_shares,
    open_policies,
    parse_end,
    update_chunk_dates,
)
from quinion.errors import InvalidInput
from quinion.model.dates import parse_date
from quinion.model.effective_dates import EffectiveDateResolver
from quinion.model.policy import KEEP, PolicyCategory, PolicyDraft, RevisionEdit
from quinion.model.revisions import Reason, Resolution, status_on

Day = Annotated[str, typer.Option("--date", help="YYYY-MM-DD.")]


def create(
    source: Source,
    title: Annotated[str, typer.Option(help="Title of the policy.")],
    category: Annotated[PolicyCategory, typer.Option(help="Category of the policy.")],
    description: Annotated[str, typer.Option(help="Short description.")] = "",
    json: Json = False,
) -> None:
    """Register a policy.

    Example: quinion policy create NPPF --title "National Planning Policy Framework"
    --category national_policy
    """
    with open_policies() as registry:
        policy = registry.create_policy(PolicyDraft(source, title, category, description))
    print_result(json, asdict(policy), f"Registered {source}.")


def edit(
    source: Source,
    revision: RevisionId,
    label: Annotated[str | None, typer.Option(help="New label.")] = None,
    start: Annotated[str | None, typer.Option("--from", help="New first day.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="New last day, or `open`.")] = None,
    json: Json = False,
) -> None:
    """Change the label or the dates of a revision, and the dates of its chunks.

    Example: quinion policy edit NPPF rev_NPPF_2023_09 --to 2024-12-11
    """
    if label is None and start is None and end is None:
        raise InvalidInput("Nothing to change. Give --label, --from or --to.")
    change = RevisionEdit(
        version_label=KEEP if label is None else label,
        effective_from=KEEP if start is None else parse_date(start),
        effective_to=KEEP if end is None else parse_end(None if end == "open" else end),
    )
    with open_policies() as registry:
        plan = registry.edit_revision(source, revision, change)
    update_chunk_dates(plan)
    print_result(
        json,
        dump_plan(plan),
        f"{revision} is in force {plan.revision.period}.{describe_shortened(plan)}",
    )


def publish(
    source: Source,
    revision: RevisionId,
    start: Annotated[
        str | None, typer.Option("--from", help="First day in force. Default: the planned one.")
    ] = None,
    json: Json = False,
) -> None:
    """Put a draft in force; the previous revision ends the day before.

    Example: quinion policy publish NPPF rev_NPPF_2024_12
    """
    day = None if start is None else parse_date(start)
    with open_policies() as registry:
        plan = registry.publish_revision(source, revision, day)
    update_chunk_dates(plan)
    note = "" if plan.revision.chunk_count else " It has no text yet: quinion policy ingest"
    print_result(
        json,
        dump_plan(plan),
        f"{revision} is in force {plan.revision.period}.{describe_shortened(plan)}{note}",
    )


def list_policies(json: Json = False) -> None:
    """List the registered policies.

    Example: quinion policy list
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    with open_policies() as registry:
        policies = registry.list_policies()
    if json:
        print_json([asdict(policy) for policy in policies])
        return
    table = Table(Column("source", no_wrap=True), "title", Column("category", overflow="fold"))
    for policy in policies:
        table.add_row(policy.source, escape(policy.title), policy.category)
    Console().print(table if policies else "No policies registered. See: quinion policy create")


def list_revisions(source: Source, json: Json = False) -> None:
    """List the revisions of a policy, with a timeline of them and of how much each changed.

    Example: quinion policy revisions NPPF
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    from quinion.cli.policy.timeline import draw_timeline

    with open_policies() as registry:
        revisions = registry.list_revisions(source)
    if json:
        print_json([asdict(revision) for revision in revisions])
        return
    today = datetime.now(UTC).date()
    table = Table(Column("revision", no_wrap=True), "label", "in force", "status", "chunks")
    for r in revisions:
        label = escape(r.version_label)
        status = "draft" if r.draft else status_on(r, revisions, today)
        period = f"planned {r.period}" if r.draft else r.period
        table.add_row(r.revision_id, label, period, status, str(r.chunk_count))
    console = Console()
    console.print(table if revisions else f"{source} has no revisions. See: quinion policy revise")
    shares = find_changed_shares(source, revisions)
    for line in draw_timeline(revisions, today, console.width, shares):
        console.print(line, highlight=False, markup=False)


def resolve(source: Source, day: Day, json: Json = False) -> None:
    """Show which revision of a policy was in force on a date.

    Example: quinion policy resolve NPPF --date 2024-03-15
    """
    on = parse_date(day)
    with open_policies() as registry:
        resolution = EffectiveDateResolver(registry).resolve_for_policy(source, on)
    print_result(json, asdict(resolution), _describe(resolution))


def snapshot(day: Day, json: Json = False) -> None:
    """Show which revision of each policy was in force on a date.

    Example: quinion policy snapshot --date 2024-03-15
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    on = parse_date(day)
    with open_policies() as registry:
        resolutions = EffectiveDateResolver(registry).resolve_snapshot(on)
    if json:
        print_json({source: asdict(resolution) for source, resolution in resolutions.items()})
        return
    table = Table("source", Column("revision", no_wrap=True), "label", "in force")
    for source, found in resolutions.items():
        r = found.revision
        row = (r.revision_id, r.version_label, r.period) if r else ("—", "", _explain(found))
        table.add_row(source, *map(escape, row))
    Console().print(table)


_REASONS = {
    Reason.NO_REVISIONS: "no revision has a text",
    Reason.DATE_BEFORE_FIRST_REVISION: "the date is before the first revision",
    Reason.DATE_IN_GAP: "no revision was in force between two others, or after the last one",
}


def _explain(resolution: Resolution) -> str:
    """Say in words why no revision is in force, with the contract's code."""
    assert resolution.reason is not None
    return f"{_REASONS[resolution.reason]} ({resolution.reason})"


def _describe(resolution: Resolution) -> str:
    found = resolution.revision
    if found is None:
        unready = resolution.unready
        note = f" ({unready.revision_id} is {unready.status})" if unready else ""
        return f"{resolution.source} on {resolution.day}: {_explain(resolution)}{note}"
    return (
        f"{resolution.source} on {resolution.day}: {found.version_label} "
        f"({found.revision_id}), in force {found.period}"
    )
