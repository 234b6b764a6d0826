"""`quinion policy …`: the registry of policies, and the texts of their revisions.

What concerns the registry alone goes straight to it, which is safe beside a running server.
What concerns texts goes through the Policy KB's tools, in this process or in the one that has
the home. Dates on chunks follow the registry: at once where the home is free, else before the
next dated search of the process that has it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from quinion.cli.client import Answer, call, connect
from quinion.cli.timeline import draw_timeline
from quinion.errors import (
    FileMissing,
    HomeInUse,
    InvalidInput,
    PolicyExists,
    QuinionError,
    UnsupportedFile,
)
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
from quinion.model.revisions import (
    EffectiveDateResolver,
    Plan,
    Resolution,
    plan_creation,
    plan_deletion,
)
from quinion.pipeline.engine import open_engine
from quinion.servers import policy_kb
from quinion.servers.policy_kb.check import find_problems
from quinion.servers.policy_kb.ingest import EXTENSIONS
from quinion.settings import Settings
from quinion.store.registry import PolicyRegistry, open_registry

app = typer.Typer(
    help="Policies, their revisions, and which was in force when.", add_completion=False
)

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
    if file is None or not json:
        _tell(json, _plain(plan), f"{revision_id} is registered.{_gave_way(plan)}")
    if file is not None:
        _tell_ingested(json, _ingest(source, revision_id, file))


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
        table.add_row(policy.source, escape(policy.title), policy.category)
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
        label = escape(r.version_label)
        table.add_row(r.revision_id, label, r.period, r.status, str(r.chunk_count))
    console = Console()
    console.print(table if shelf else f"{source} has no revisions. See: quinion policy revise")
    for line in draw_timeline(shelf, datetime.now(UTC).date(), console.width):
        console.print(line, highlight=False, markup=False)


@app.command()
def ingest(
    source: Source,
    revision: RevisionId,
    file: Annotated[Path, typer.Argument(help="Its PDF.")],
    json: Json = False,
) -> None:
    """Ingest the text of a registered revision."""
    _check_file(file)
    _tell_ingested(json, _ingest(source, revision, file))


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
    _tell_ingested(json, _ingest(source, revision, file, reindex=True))


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
        table.add_row(source, *map(escape, row))
    Console().print(table)


@app.command()
def check(json: Json = False) -> None:
    """Check that the registry and the stored texts agree."""
    problems = anyio.run(_check)
    _tell(json, {"problems": problems}, "\n".join(problems) or "Registry and texts agree.")
    raise typer.Exit(int(bool(problems)))


@app.command()
def seed(
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SOURCE@DATE=PDF]...", help="Texts to ingest, and since when."),
    ] = None,
    json: Json = False,
) -> None:
    """Register the six seed policies, and ingest the texts that are named.

    Example: quinion policy seed NPPF@2024-12-12=nppf.pdf LTN_1_20@2020-07-27=ltn-1-20.pdf
    """
    named = [_parse_text(text) for text in texts or []]
    sources = [draft.source for draft in SEED_POLICIES]
    with _registry() as registry:
        _rehearse(registry, named)
        for draft in SEED_POLICIES:
            with suppress(PolicyExists):
                registry.create_policy(draft)
        plans = [registry.create_revision(source, draft) for source, draft, _ in named]
    for plan in plans:
        _bring_into_step(plan)
    if not json:
        typer.echo(f"Registered: {', '.join(sources)}.")
    answers = []
    for plan, (source, _, file) in zip(plans, named, strict=True):
        answers.append(_ingest(source, plan.revision.revision_id, file))
        if not json:
            _tell_ingested(json, answers[-1])
    if json:
        _print_json({"policies": sources} | ({"ingested": answers} if named else {}))


Named = tuple[str, RevisionDraft, Path]
"""A text that is to be ingested: of which policy, as which revision, from which file."""


def _rehearse(registry: PolicyRegistry, named: list[Named]) -> None:
    """Refuse what could not be registered, before anything is."""
    shelves: dict[str, list[Revision]] = {draft.source: [] for draft in SEED_POLICIES}
    shelves |= registry.list_all_revisions()
    for source, draft, _ in named:
        if source not in shelves:
            registry.get_policy(source)
        plan = plan_creation(source, shelves.get(source, []), draft, datetime.now(UTC))
        kept = {r.revision_id: r for r in (*shelves[source], *plan.others, plan.revision)}
        shelves[source] = list(kept.values())


def _parse_text(text: str) -> Named:
    source, at, rest = text.partition("@")
    day, equals, file = rest.partition("=")
    if not (at and equals):
        raise InvalidInput(f"{text!r} is not of the form SOURCE@DATE=PDF.")
    start, path = parse_date(day), Path(file)
    _check_file(path)
    return source, RevisionDraft(f"{start:%B %Y}", start), path


def _parse_end(text: str | None) -> date | None:
    return None if text is None else parse_date(text)


def _check_file(file: Path | None) -> None:
    if file is None:
        return
    if not file.is_file():
        raise FileMissing(f"There is no file {file}.")
    if file.suffix.lower() not in EXTENSIONS:
        raise UnsupportedFile(f"{file} is not a .pdf file. Policies are ingested from PDFs.")


@contextmanager
def _registry() -> Iterator[PolicyRegistry]:
    settings = Settings.from_environment()
    settings.home.mkdir(parents=True, exist_ok=True)
    registry = open_registry(settings.home / policy_kb.REGISTRY_FILE, settings.redis_url)
    try:
        yield registry
    finally:
        registry.close()


def _bring_into_step(plan: Plan) -> None:
    """Have the dates on chunks follow now, unless the process that has the home will do it."""
    if any(revision.chunk_count for revision in (plan.revision, *plan.others)):
        with suppress(HomeInUse):
            anyio.run(_step)


async def _step() -> None:
    async with open_engine(Settings.from_environment()) as engine:
        await policy_kb.open_knowledge(engine).in_step()


async def _check() -> list[str]:
    async with open_engine(Settings.from_environment()) as engine:
        return await find_problems(policy_kb.open_knowledge(engine))


def _call(tool: str, arguments: Answer, title: str = "") -> Answer:
    async def run() -> Answer:
        async with connect(Settings.from_environment(), policy_kb.NAME) as client:
            console = Console(stderr=True)
            with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
                bar = bars.add_task(title, total=None, visible=bool(title))

                async def show(done: float, total: float | None, _message: str | None) -> None:
                    bars.update(bar, completed=done, total=total)

                return await call(client, tool, arguments, show)

    answer = anyio.run(run)
    if answer["status"] == "error":
        raise QuinionError(answer["message"])
    return answer


def _ingest(source: str, revision_id: str, file: Path, *, reindex: bool = False) -> Answer:
    arguments: Answer = {
        "source": source,
        "revision_id": revision_id,
        "file_path": str(file.absolute()),
        "reindex": reindex,
    }
    return _call("ingest_policy_revision", arguments, file.name)


def _tell_ingested(as_json: bool, answer: Answer) -> None:
    _tell(
        as_json,
        answer,
        f"{answer['revision_id']}: {answer['page_count']} pages in {answer['chunks_created']} "
        f"chunks ({answer['extraction_method']}).",
    )


def _ask(question: str, yes: bool) -> None:
    if not yes:
        typer.confirm(question, abort=True, err=True)


def _gave_way(plan: Plan) -> str:
    return "".join(f" {other.revision_id} ends on {other.effective_to}." for other in plan.others)


def _plain(plan: Plan) -> dict[str, Any]:
    return {"revision": asdict(plan.revision), "others": [asdict(other) for other in plan.others]}


def _describe(resolution: Resolution) -> str:
    found = resolution.revision
    if found is None:
        awaited = resolution.unready
        note = f" ({awaited.revision_id} is {awaited.status})" if awaited else ""
        return f"{resolution.source} on {resolution.day}: {resolution.reason}{note}"
    return (
        f"{resolution.source} on {resolution.day}: {found.version_label} "
        f"({found.revision_id}), in force {found.period}"
    )


def _tell(as_json: bool, data: Any, line: str) -> None:
    if as_json:
        _print_json(data)
    else:
        typer.echo(line)


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))
