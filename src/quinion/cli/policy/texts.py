"""The commands that concern the texts of revisions, and those that may concern them."""

from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quinion.cli.options import Json, Yes, ask, print_json, tell
from quinion.cli.policy.asking import (
    RevisionId,
    Source,
    bring_into_step,
    call_tool,
    gave_way,
    open_policies,
    parse_end,
    plain,
)
from quinion.cli.report import warn
from quinion.errors import FileMissing, InvalidInput, PolicyExists, UnsupportedFile
from quinion.model.dates import parse_date
from quinion.model.policy import SEED_POLICIES, Revision, RevisionDraft
from quinion.model.revisions import plan_creation, plan_deletion

if TYPE_CHECKING:
    from quinion.cli.client import Answer
    from quinion.store.policies import PolicyRegistry

Named = tuple[str, RevisionDraft, Path]
"""A text that is to be ingested: of which policy, as which revision, from which file."""


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
    draft = RevisionDraft(label, parse_date(start), parse_end(end))
    _check_file(file)
    with open_policies() as registry:
        plan = registry.create_revision(source, draft)
    bring_into_step(plan)
    revision_id = plan.revision.revision_id
    if file is None or not json:
        tell(json, plain(plan), f"{revision_id} is registered.{gave_way(plan)}")
    if file is not None:
        _tell_ingested(json, _ingest(source, revision_id, file))


def delete(source: Source, revision: RevisionId, yes: Yes = False, json: Json = False) -> None:
    """Delete a revision, its text and its entry. The only active one may not be deleted.

    Example: quinion policy delete NPPF rev_NPPF_2023_09
    """
    with open_policies() as registry:
        plan_deletion(source, registry.list_revisions(source), revision)
        ask(f"Delete {revision} of {source} and its text?", yes)
        call_tool("remove_policy_revision", {"source": source, "revision_id": revision})
        deleted = registry.delete_revision(source, revision)
    tell(json, asdict(deleted), f"{revision} is deleted.")


def ingest(
    source: Source,
    revision: RevisionId,
    file: Annotated[Path, typer.Argument(help="Its PDF.")],
    json: Json = False,
) -> None:
    """Ingest the text of a registered revision.

    Example: quinion policy ingest NPPF rev_NPPF_2024_12 nppf.pdf
    """
    _check_file(file)
    _tell_ingested(json, _ingest(source, revision, file))


def reindex(
    source: Source,
    revision: RevisionId,
    file: Annotated[Path | None, typer.Argument(help="Its PDF; default: as before.")] = None,
    json: Json = False,
) -> None:
    """Ingest the text of a revision again, in the place of what is there.

    Example: quinion policy reindex NPPF rev_NPPF_2024_12
    """
    if file is None:
        with open_policies() as registry:
            file = registry.get_revision(source, revision).file_path
    if file is None:
        raise InvalidInput(f"{revision} has never been ingested. Name its PDF.")
    _check_file(file)
    _tell_ingested(json, _ingest(source, revision, file, reindex=True))


def remove(source: Source, revision: RevisionId, yes: Yes = False, json: Json = False) -> None:
    """Remove the text of a revision; its entry stays.

    Example: quinion policy remove NPPF rev_NPPF_2023_09
    """
    with open_policies() as registry:
        registry.get_revision(source, revision)
    ask(f"Remove the text of {revision} of {source}?", yes)
    answer = call_tool("remove_policy_revision", {"source": source, "revision_id": revision})
    tell(json, answer, f"{answer['chunks_removed']} chunks of {revision} are removed.")


def check(json: Json = False) -> None:
    """Check that the registry and the stored texts agree; exit status 1 when they do not.

    Example: quinion policy check
    """
    problems = call_tool("verify", {})["problems"]
    tell(json, {"problems": problems}, "\n".join(problems) or "Registry and texts agree.")
    raise typer.Exit(int(bool(problems)))


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
    with open_policies() as registry:
        _rehearse(registry, named)
        for draft in SEED_POLICIES:
            with suppress(PolicyExists):
                registry.create_policy(draft)
        plans = [registry.create_revision(source, draft) for source, draft, _ in named]
    for plan in plans:
        bring_into_step(plan)
    if not json:
        typer.echo(f"Registered: {', '.join(sources)}.")
    answers = []
    for plan, (source, _, file) in zip(plans, named, strict=True):
        answers.append(_ingest(source, plan.revision.revision_id, file))
        if not json:
            _tell_ingested(json, answers[-1])
    if json:
        print_json({"policies": sources} | ({"ingested": answers} if named else {}))


def _rehearse(registry: "PolicyRegistry", named: list[Named]) -> None:
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


def _check_file(file: Path | None) -> None:
    from quinion.servers.policy_kb.ingest import EXTENSIONS

    if file is None:
        return
    if not file.is_file():
        raise FileMissing(f"There is no file {file}.")
    if file.suffix.lower() not in EXTENSIONS:
        raise UnsupportedFile(f"{file} is not a .pdf file. Policies are ingested from PDFs.")


def _ingest(source: str, revision_id: str, file: Path, *, reindex: bool = False) -> "Answer":
    arguments: Answer = {
        "source": source,
        "revision_id": revision_id,
        "file_path": str(file.absolute()),
        "reindex": reindex,
    }
    return call_tool("ingest_policy_revision", arguments, file.name)


def _tell_ingested(as_json: bool, answer: "Answer") -> None:
    tell(
        as_json,
        answer,
        f"{answer['revision_id']}: {answer['page_count']} pages in {answer['chunks_created']} "
        f"chunks ({answer['extraction_method']}).",
    )
    if not as_json:
        warn(answer["revision_id"], answer)
