"""Commands that read or change the texts of policy revisions."""

from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quinion.cli.options import Json, Yes, confirm, print_json, print_result
from quinion.cli.policy.calls import (
    RevisionId,
    Source,
    call_tool,
    describe_shortened,
    dump_plan,
    open_policies,
    parse_end,
    update_chunk_dates,
)
from quinion.cli.report import name_count, warn
from quinion.errors import FileMissing, InvalidInput, PolicyExists, UnsupportedFile
from quinion.model.dates import parse_date
from quinion.model.policy import SEED_POLICIES, Revision, RevisionDraft
from quinion.model.revisions import Plan, plan_creation, plan_deletion, plan_undo

if TYPE_CHECKING:
    from quinion.cli.server_client import Answer
    from quinion.store.policies import PolicyRegistry

SeedText = tuple[str, RevisionDraft, Path]
"""Text to ingest: its policy, revision and file."""


def revise(
    source: Source,
    label: Annotated[str, typer.Option(help="Label of the revision, e.g. December 2024.")],
    start: Annotated[str, typer.Option("--from", help="First day in force, YYYY-MM-DD.")],
    end: Annotated[str | None, typer.Option("--to", help="Last day in force.")] = None,
    file: Annotated[Path | None, typer.Option(help="PDF to ingest.")] = None,
    draft: Annotated[
        bool, typer.Option("--draft", help="Register a draft, which is not in force.")
    ] = False,
    json: Json = False,
) -> None:
    """Register a revision of a policy; the previous one ends the day before.

    A draft can be searched by its revision ID and changes no dates until it is published.

    Example: quinion policy revise NPPF --label "December 2024" --from 2024-12-12 --file nppf.pdf
    """
    new = RevisionDraft(label, parse_date(start), parse_end(end), as_draft=draft)
    _check_file(file)
    with open_policies() as registry:
        plan = registry.create_revision(source, new)
    update_chunk_dates(plan)
    revision_id, kind = plan.revision.revision_id, "the draft " if draft else ""
    if file is None or not json:
        line = f"Registered {kind}{revision_id}.{describe_shortened(plan)}"
        print_result(json, dump_plan(plan), line)
    if file is not None:
        _print_ingested(json, _ingest(source, revision_id, file))


def undo(source: Source, revision: RevisionId, yes: Yes = False, json: Json = False) -> None:
    """Delete a mistaken revision and its text, and reopen the revision that it ended.

    Example: quinion policy undo NPPF rev_NPPF_2024_12
    """
    with open_policies() as registry:
        planned = plan_undo(source, registry.list_revisions(source), revision)
        confirm(f"Delete {revision} of {source} and its text?{_describe_reopened(planned)}", yes)
        call_tool("remove_policy_revision", {"source": source, "revision_id": revision})
        plan = registry.undo_revision(source, revision)
    update_chunk_dates(plan)
    print_result(json, dump_plan(plan), f"Deleted {revision}.{_describe_reopened(plan)}")


def _describe_reopened(plan: Plan) -> str:
    if not plan.others:
        return " No other revision changes."
    reopened = plan.others[0]
    return f" {reopened.revision_id} is in force {reopened.period} again."


def delete(
    source: Source,
    revision: Annotated[
        str | None, typer.Argument(help="Revision ID. Default: the policy, with all of them.")
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete a revision and its text, or a policy with all revisions.

    The only active revision cannot be deleted alone. Dates of other revisions do not change.

    Example: quinion policy delete NPPF rev_NPPF_2023_09
    """
    if revision is None:
        _delete_policy(source, yes, json)
        return
    with open_policies() as registry:
        plan_deletion(source, registry.list_revisions(source), revision)
        confirm(f"Delete {revision} of {source} and its text?", yes)
        call_tool("remove_policy_revision", {"source": source, "revision_id": revision})
        deleted = registry.delete_revision(source, revision)
    print_result(json, asdict(deleted), f"Deleted {revision}.")


def _delete_policy(source: str, yes: bool, json: bool) -> None:
    """Delete a policy: first the texts, so that an interrupted deletion can be repeated."""
    with open_policies() as registry:
        policy = registry.get_policy(source)
        revisions = registry.list_revisions(source)
        count = f"{len(revisions)} revision{'s' * (len(revisions) != 1)}"
        confirm(f"Delete {source} ({policy.title}) with {count} and all texts?", yes)
        for one in revisions:
            named = {"source": source, "revision_id": one.revision_id}
            call_tool("remove_policy_revision", named)
        registry.delete_policy(source)
    deleted = {"policy": asdict(policy), "revisions": [asdict(one) for one in revisions]}
    print_result(json, deleted, f"Deleted {source} with {count}.")


def ingest(
    source: Source,
    revision: RevisionId,
    file: Annotated[Path, typer.Argument(help="PDF of the revision.")],
    json: Json = False,
) -> None:
    """Ingest the text of a registered revision.

    Example: quinion policy ingest NPPF rev_NPPF_2024_12 nppf.pdf
    """
    _check_file(file)
    _print_ingested(json, _ingest(source, revision, file))


def reindex(
    source: Source,
    revision: RevisionId,
    file: Annotated[Path | None, typer.Argument(help="PDF. Default: the last one.")] = None,
    json: Json = False,
) -> None:
    """Ingest the text of a revision again and replace the stored text.

    Example: quinion policy reindex NPPF rev_NPPF_2024_12
    """
    if file is None:
        with open_policies() as registry:
            file = registry.get_revision(source, revision).file_path
    if file is None:
        raise InvalidInput(f"{revision} has no file from an earlier ingest. Name its PDF.")
    _check_file(file)
    _print_ingested(json, _ingest(source, revision, file, reindex=True))


def remove(source: Source, revision: RevisionId, yes: Yes = False, json: Json = False) -> None:
    """Remove the text of a revision and keep its registry entry.

    Example: quinion policy remove NPPF rev_NPPF_2023_09
    """
    with open_policies() as registry:
        registry.get_revision(source, revision)
    confirm(f"Remove the text of {revision} of {source}?", yes)
    answer = call_tool("remove_policy_revision", {"source": source, "revision_id": revision})
    removed = name_count(answer["chunks_removed"], "chunk")
    print_result(json, answer, f"Removed {removed} of {revision}.")


def check(json: Json = False) -> None:
    """Check that registry and stored texts agree; exit with status 1 if not.

    Example: quinion policy check
    """
    problems = call_tool("verify", {})["problems"]
    print_result(json, {"problems": problems}, "\n".join(problems) or "Registry and texts agree.")
    raise typer.Exit(int(bool(problems)))


def seed(
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE@DATE=PDF]...", help="Texts to ingest, with the first day in force."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Register the six seed policies and ingest the given texts.

    Example: quinion policy seed NPPF@2024-12-12=nppf.pdf LTN_1_20@2020-07-27=ltn-1-20.pdf
    """
    named = [_parse_text(text) for text in texts or []]
    sources = [draft.source for draft in SEED_POLICIES]
    with open_policies() as registry:
        _check_texts(registry, named)
        for draft in SEED_POLICIES:
            with suppress(PolicyExists):
                registry.create_policy(draft)
        plans = [registry.create_revision(source, draft) for source, draft, _ in named]
    for plan in plans:
        update_chunk_dates(plan)
    if not json:
        typer.echo(f"Registered: {', '.join(sources)}.")
    answers = []
    for plan, (source, _, file) in zip(plans, named, strict=True):
        answers.append(_ingest(source, plan.revision.revision_id, file))
        if not json:
            _print_ingested(json, answers[-1])
    if json:
        print_json({"policies": sources} | ({"ingested": answers} if named else {}))


def _check_texts(registry: "PolicyRegistry", named: list[SeedText]) -> None:
    """Check that all texts can be registered, before any change."""
    by_source: dict[str, list[Revision]] = {draft.source: [] for draft in SEED_POLICIES}
    by_source |= registry.list_all_revisions()
    for source, draft, _ in named:
        if source not in by_source:
            registry.get_policy(source)
        plan = plan_creation(source, by_source.get(source, []), draft, datetime.now(UTC))
        kept = {r.revision_id: r for r in (*by_source[source], *plan.others, plan.revision)}
        by_source[source] = list(kept.values())


def _parse_text(text: str) -> SeedText:
    source, at, rest = text.partition("@")
    day, equals, file = rest.partition("=")
    if not (at and equals):
        raise InvalidInput(f"{text!r} must have the form SOURCE@DATE=PDF.")
    start, path = parse_date(day), Path(file)
    _check_file(path)
    return source, RevisionDraft(f"{start:%B %Y}", start), path


def _check_file(file: Path | None) -> None:
    from quinion.ingest.revisions import EXTENSIONS

    if file is None:
        return
    if not file.is_file():
        raise FileMissing(f"File not found: {file}.")
    if file.suffix.lower() not in EXTENSIONS:
        raise UnsupportedFile(f"{file} is not a .pdf file. Only PDFs can be ingested as policies.")


def _ingest(source: str, revision_id: str, file: Path, *, reindex: bool = False) -> "Answer":
    arguments: Answer = {
        "source": source,
        "revision_id": revision_id,
        "file_path": str(file.absolute()),
        "reindex": reindex,
    }
    return call_tool("ingest_policy_revision", arguments, file.name)


def _print_ingested(as_json: bool, answer: "Answer") -> None:
    print_result(
        as_json,
        answer,
        f"{answer['revision_id']}: {name_count(answer['page_count'], 'page')} in "
        f"{name_count(answer['chunks_created'], 'chunk')} ({answer['extraction_method']}).",
    )
    if not as_json:
        warn(answer["revision_id"], answer)
