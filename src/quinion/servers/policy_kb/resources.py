"""Resources for policies, revisions and sections, the prompts, and completions."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from mcp.types import Resource
from pydantic import Field

from quinion.ingest.policies import KnowledgeBase
from quinion.model.dates import parse_date
from quinion.model.policy import Revision
from quinion.servers.base import ContractServer, Name, QueryText
from quinion.servers.completions import complete_by
from quinion.servers.evidence.show import name_places, read_page
from quinion.servers.invisible_text import note
from quinion.servers.policy_kb import prompts
from quinion.servers.policy_kb.answers import Policies, PolicyEntry, Revisions, Section
from quinion.servers.policy_kb.citations import PAGE, PolicyCitations
from quinion.servers.policy_kb.listing import find_revisions, list_policies, list_revisions
from quinion.servers.policy_kb.lookup import find_in_force, find_revision
from quinion.servers.policy_kb.records import CHUNKS, select_revision
from quinion.servers.policy_kb.section import list_sections, read_section
from quinion.servers.policy_kb.whole_comparison import write_comparison
from quinion.servers.resources import add_continuation, fill_uri

POLICIES = "policy://policies"
REVISIONS = "policy://{source}/revisions{?from_revision}"
SECTION = "policy://{source}/section/{section_ref}{?date,from_part}"
COMPARISON = "policy://{source}/comparison/{earlier}/{later}{?from_part}"
REVISION_SECTION = "policy://{source}/revision/{revision_id}/section/{section_ref}{?from_part}"

Offset = Annotated[int, Field(ge=0)]
Date = Annotated[Name, Field(description="YYYY-MM-DD.")]
Source = Annotated[Name, Field(description="Policy source slug, e.g. NPPF.")]


def add_resources(
    server: ContractServer, knowledge: KnowledgeBase, citations: PolicyCitations
) -> None:
    """Register the resources, the prompts and their completions."""

    @server.resource(
        POLICIES,
        title="Policies",
        description="All registered policies, as `list_policy_documents` lists them.",
        mime_type="application/json",
    )
    async def policies() -> Policies:
        return await list_policies(knowledge)

    @server.resource(
        REVISIONS,
        title="Revisions of a policy",
        description="The revisions of a policy, newest first, with the days they were in force.",
        mime_type="application/json",
    )
    async def revisions(source: str, from_revision: Offset = 0) -> Revisions:
        return await list_revisions(knowledge, source, from_revision)

    @server.resource(
        SECTION,
        title="Section of a policy on a date",
        description="A section of a policy as it was in force on a day (YYYY-MM-DD), else as it is "
        "today; the first line is what to cite. When it is too long for one answer, the last line "
        "says where it goes on.",
        mime_type="text/plain",
    )
    async def section(
        source: str, section_ref: str, date: str | None = None, from_part: Offset = 0
    ) -> str:
        revision = await _find(knowledge, source, date)
        part, _ = await read_section(
            knowledge, source, section_ref, revision.revision_id, from_part
        )
        names = {"source": source, "section_ref": section_ref, **({"date": date} if date else {})}
        return _format_section(part, revision, SECTION, names)

    @server.resource(
        REVISION_SECTION,
        title="Section of a revision",
        description="A section of one revision of a policy, whenever it was in force; the first "
        "line is what to cite. When it is too long for one answer, the last line says where it "
        "goes on.",
        mime_type="text/plain",
    )
    async def revision_section(
        source: str, revision_id: str, section_ref: str, from_part: Offset = 0
    ) -> str:
        revision = await find_revision(knowledge, source, revision_id)
        part, _ = await read_section(knowledge, source, section_ref, revision_id, from_part)
        names = {"source": source, "revision_id": revision_id, "section_ref": section_ref}
        return _format_section(part, revision, REVISION_SECTION, names)

    @server.resource(
        PAGE,
        title="Page of a revision",
        description="A page as an image, with the passage of a chunk marked.",
        mime_type="image/png",
    )
    async def page(source: str, revision_id: str, number: str, chunk: str | None = None) -> bytes:
        return await read_page(citations, f"{source} {revision_id}", number, chunk)

    _add_comparison(server, knowledge)
    _add_prompts(server)
    _add_names(server, knowledge)


def _add_comparison(server: ContractServer, knowledge: KnowledgeBase) -> None:
    """Register the comparison of two revisions."""

    @server.resource(
        COMPARISON,
        title="What changed between two revisions",
        description="Every section that changed between two revisions, each named by its ID or by "
        "a day it was in force (YYYY-MM-DD), with the changed words marked. When it is too long "
        "for one answer, the last line says where it goes on.",
        mime_type="text/markdown",
    )
    async def comparison(source: str, earlier: str, later: str, from_part: Offset = 0) -> str:
        text, following = await write_comparison(knowledge, source, earlier, later, from_part)
        if following is None:
            return text
        names = {"source": source, "earlier": earlier, "later": later}
        return add_continuation(text, fill_uri(COMPARISON, **names, from_part=following))


def _add_names(server: ContractServer, knowledge: KnowledgeBase) -> None:
    """List the policies, and complete sources, revisions, dates and sections."""

    async def listed() -> list[Resource]:
        return list(map(_to_resource, (await list_policies(knowledge)).policies))

    async def find_names(argument: str, chosen: Mapping[str, str]) -> Iterable[str]:
        if argument == "source":
            return [policy.source for policy in (await list_policies(knowledge)).policies]
        if not (source := chosen.get("source")):
            return []
        if argument == "revision_id":
            return [revision.revision_id for revision in await find_revisions(knowledge, source)]
        if argument in {"date", "earlier", "later"}:
            starts = (one.effective_from for one in await find_revisions(knowledge, source))
            return [start.isoformat() for start in starts]
        if argument == "section_ref":
            return await _section_refs(knowledge, source, chosen)
        return await _places(knowledge, source, chosen.get("revision_id", ""), argument)

    server.add_listing(listed)
    complete_by(server, find_names)


def _add_prompts(server: ContractServer) -> None:
    @server.prompt(title="Find the text in force on a date")
    def text_in_force(
        date: Date,
        topic: Annotated[QueryText, Field(description="What the policy is asked about.")],
        source: Annotated[
            Name, Field(description="Policy source slug, e.g. NPPF; all policies if left out.")
        ] = "",
    ) -> str:
        """Find out what policy said about a matter on a day, and cite it."""
        return prompts.text_in_force(date, topic, source)

    @server.prompt(title="Compare a section between two dates")
    def compare_revisions(
        source: Source,
        section_ref: Annotated[Name, Field(description="Section reference, e.g. Para 116.")],
        earlier: Date,
        later: Date,
    ) -> str:
        """Find out what changed in a section of a policy between two days."""
        return prompts.compare_revisions(source, section_ref, earlier, later)

    @server.prompt(title="What changed between two dates")
    def what_changed(source: Source, earlier: Date, later: Date) -> str:
        """Find out what changed in a whole policy between two days, the weightiest first."""
        return prompts.what_changed(source, earlier, later)


async def _find(knowledge: KnowledgeBase, source: str, date: str | None) -> Revision:
    """Find the revision in force on the day; without a day, as `get_policy_section` does."""
    if date is None:
        return await find_revision(knowledge, source, None)
    return await find_in_force(knowledge, source, parse_date(date))


async def _places(
    knowledge: KnowledgeBase, source: str, revision_id: str, argument: str
) -> list[str]:
    """List the pages or the chunks of a revision, whichever the argument is."""
    if argument not in {"number", "chunk"}:
        return []
    where = select_revision(source, revision_id).where
    chunks = await knowledge.resources.collections.get(CHUNKS, where=where)
    return name_places(chunks, argument)


async def _section_refs(
    knowledge: KnowledgeBase, source: str, chosen: Mapping[str, str]
) -> list[str]:
    """List the sections of the chosen revision, or of the one in force on the chosen day."""
    if revision_id := chosen.get("revision_id"):
        revision = await find_revision(knowledge, source, revision_id)
    else:
        revision = await _find(knowledge, source, chosen.get("date") or chosen.get("later"))
    return await list_sections(knowledge, revision)


def _format_section(
    part: Section, revision: Revision, template: str, names: Mapping[str, str]
) -> str:
    pages = ", ".join(map(str, part.page_numbers))
    cited = (
        f"{part.source}, {part.version_label} ({part.revision_id}, in force {revision.period}), "
        f"{part.section_ref}, {'pages' if len(part.page_numbers) > 1 else 'page'} {pages}"
    )
    following = None
    if part.next_part is not None:
        following = fill_uri(template, **names, from_part=part.next_part)
    return add_continuation(f"{cited}\n\n{note(part.text, part.hidden_text)}", following)


def _to_resource(policy: PolicyEntry) -> Resource:
    return Resource(
        uri=fill_uri(REVISIONS, source=policy.source),
        name=policy.source,
        title=policy.title,
        description=f"The revisions of {policy.source} ({policy.category})",
        mime_type="application/json",
    )
