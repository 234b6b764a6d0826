"""The six tools of the Policy KB.

Their docstrings and parameter descriptions are what clients see.
"""

from functools import partial
from typing import Annotated

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult
from pydantic import Field

from quinion.ingest.misread_pages import describe_misread
from quinion.ingest.policies import KnowledgeBase
from quinion.ingest.revisions import RevisionIngestion
from quinion.model.dates import parse_date
from quinion.servers.base import (
    MoreQueryText,
    Name,
    PathText,
    QueryText,
    make_tool,
    report_to,
)
from quinion.servers.evidence.citations import (
    Images,
    add_evidence,
    answer_with_images,
    ids_of,
)
from quinion.servers.invisible_text import warn
from quinion.servers.policy_kb.answers import (
    CompareAnswer,
    FollowAnswer,
    Followed,
    Found,
    IngestAnswer,
    Ingested,
    Outline,
    PoliciesAnswer,
    QueryResults,
    RemoveAnswer,
    Removed,
    Result,
    RevisionsAnswer,
    SearchAnswer,
    SectionAnswer,
)
from quinion.servers.policy_kb.citations import PolicyCitations
from quinion.servers.policy_kb.listing import list_policies, list_revisions
from quinion.servers.policy_kb.lookup import search, warn_of_sources
from quinion.servers.policy_kb.section import outline, read_section
from quinion.servers.policy_kb.whole_comparison import compare_revisions
from quinion.servers.response_size import how_many_fit
from quinion.servers.search_mode import Merge, SearchMode, choose_mode

MAX_RESULTS = 1000
MAX_QUERIES = 20

Source = Annotated[Name, Field(description="Policy source slug, e.g. NPPF or LTN_1_20.")]
RevisionId = Annotated[Name, Field(description="Revision ID, e.g. rev_NPPF_2024_12.")]


def make_tools(knowledge: KnowledgeBase, citations: PolicyCitations) -> list[Tool]:
    """Create the tools on this knowledge base."""
    ingestion = RevisionIngestion(knowledge)
    find = partial(search, knowledge)

    async def search_policy(
        query: Annotated[QueryText, Field(description="What to look for, in natural language.")],
        sources: Annotated[
            list[Name] | None, Field(description="Only these policies, by their source slugs.")
        ] = None,
        effective_date: Annotated[
            str | None,
            Field(description="YYYY-MM-DD: only revisions that were in force on this day."),
        ] = None,
        n_results: Annotated[
            int,
            Field(ge=1, description=f"How many results at the most; never over {MAX_RESULTS:,}."),
        ] = 10,
        more_queries: Annotated[
            list[MoreQueryText] | None,
            Field(
                max_length=MAX_QUERIES,
                description="Further queries to answer in the same call, with the same filters.",
            ),
        ] = None,
        revision_id: Annotated[
            Name | None,
            Field(description="Only this revision; the only way to search a draft."),
        ] = None,
        mode: SearchMode = None,
        merge: Merge = False,
        images: Images = 0,
    ) -> Annotated[CallToolResult, SearchAnswer]:
        """Search policy texts by meaning, best match first.

        Set `mode` to hybrid for names, numbers, references ("paragraph 116", "Policy H1") and
        quotations: it compares the words, too.

        With `effective_date`, only text that was in force on that day is found; without it, all
        revisions are searched, superseded ones too, but no drafts. Each result has the source,
        version label, section and page to cite, and in `evidence` its place on the page. Set
        `images` when the look of a passage matters (tables, maps), or to show it to the user.
        """
        day = parse_date(effective_date) if effective_date is not None else None
        queries = [query, *(more_queries or [])]
        limit = min(n_results, MAX_RESULTS + 1)
        how = choose_mode(mode, knowledge.resources.settings)
        hits = [
            await find(text, limit, sources or [], day, revision_id, how, merge=merge)
            for text in queries
        ]
        found = [list(map(Result.of, some)) for some in hits]
        cited = [
            (result, ids_of(hit))
            for results, some in zip(found, hits, strict=True)
            for result, hit in zip(results, some, strict=True)
        ]
        passages = await add_evidence(citations, cited)
        kept = _cut_to_fit(queries, [results[:MAX_RESULTS] for results in found])
        first, *more = (
            QueryResults(query=text, results_count=len(results), results=results)
            for text, results in zip(queries, kept, strict=True)
        )
        answer = SearchAnswer(
            Found(
                query=first.query,
                results_count=first.results_count,
                results=first.results,
                effective_date=effective_date,
                truncated=kept != found,
                warning=await warn_of_sources(knowledge, sources or [], day),
                more=more if more_queries is not None else None,
            )
        )
        return await answer_with_images(answer, citations, passages, images)

    async def get_policy_section(
        source: Source,
        section_ref: Annotated[
            Name,
            Field(description="Section reference, e.g. Para 116, Chapter 9, Policy H1, Table 5-2."),
        ],
        revision_id: Annotated[
            Name | None,
            Field(description="Revision ID; without it, the revision in force today."),
        ] = None,
        from_part: Annotated[
            int, Field(ge=0, description="Go on from here: `next_part` of the last answer.")
        ] = 0,
        compare_with: Annotated[
            Name | None,
            Field(
                description="Another revision to compare the section with: its ID, or YYYY-MM-DD "
                "for the one in force on that day."
            ),
        ] = None,
        images: Images = 0,
    ) -> Annotated[CallToolResult, SectionAnswer]:
        """Read a section of a policy, whole, with its page numbers.

        A section that has others inside it (a chapter) comes with all of them. A very long one
        comes in parts: when `next_part` is not null, call again with it as `from_part`. With
        `compare_with`, `comparison` has the section's counterpart in the other revision, even if
        it was renumbered or moved, and the words that differ. Set `images` when the look of the
        section matters (tables, maps), or to show it to the user.
        """
        section, ids = await read_section(
            knowledge, source, section_ref, revision_id, from_part, compare_with
        )
        await add_evidence(citations, [(section, ids)])
        found = await citations.passages(ids) if images else {}
        passages = [found[id_] for id_ in ids if id_ in found]
        return await answer_with_images(SectionAnswer(section), citations, passages, images)

    async def list_policy_documents() -> PoliciesAnswer:
        """List all registered policies with source slug, title and category."""
        return PoliciesAnswer(await list_policies(knowledge))

    async def list_policy_revisions(
        source: Source,
        from_revision: Annotated[
            int,
            Field(ge=0, description="Go on from here: `next_revision` of the last answer."),
        ] = 0,
        changes: Annotated[
            bool,
            Field(description="Add what changed in each revision since the one before."),
        ] = False,
    ) -> RevisionsAnswer:
        """List the revisions of a policy, newest first, with the dates they were in force.

        A very long list comes in parts: when `next_revision` is not null, call again with it as
        `from_revision`. `revision_count` is always that of the whole list.
        """
        return RevisionsAnswer(
            await list_revisions(knowledge, source, from_revision, changes=changes)
        )

    async def ingest_policy_revision(
        source: Source,
        revision_id: RevisionId,
        file_path: Annotated[PathText, Field(description="Absolute path to the PDF on disk.")],
        ctx: Context,
        reindex: Annotated[
            bool, Field(description="Replace the chunks that the revision has.")
        ] = False,
    ) -> IngestAnswer:
        """Ingest the PDF of a registered policy revision: read, split by section, embed, store.

        A revision that has chunks already gets the new ones in their place, with or without
        `reindex`; if that fails, it keeps the old ones.
        """
        del reindex  # either way, the result is exactly the chunks of the file
        done = await ingestion.ingest(source, revision_id, file_path, report_to(ctx))
        return IngestAnswer(
            Ingested(
                source=source,
                revision_id=revision_id,
                chunks_created=done.chunk_count,
                page_count=done.page_count,
                extraction_method=str(done.method),
                warnings=[*warn(done.hidden), *describe_misread(done.misread)],
            )
        )

    async def remove_policy_revision(source: Source, revision_id: RevisionId) -> RemoveAnswer:
        """Remove all chunks of a policy revision from the store; its registry entry stays."""
        removed = await knowledge.remove_chunks(source, revision_id)
        return RemoveAnswer(Removed(source=source, revision_id=revision_id, chunks_removed=removed))

    return [
        make_tool(search_policy, title="Search policies", read_only=True),
        make_tool(get_policy_section, title="Read a policy section", read_only=True),
        make_tool(list_policy_documents, title="List policies", read_only=True),
        make_tool(list_policy_revisions, title="List revisions of a policy", read_only=True),
        make_tool(ingest_policy_revision, title="Ingest a policy revision", read_only=False),
        make_tool(
            remove_policy_revision,
            title="Remove a policy revision's text",
            read_only=False,
            destructive=True,
        ),
    ]


def make_cli_tools(knowledge: KnowledgeBase) -> list[Tool]:
    """Create the tools for `quinion policy` and the console, which are hidden from clients."""

    async def bring_into_step() -> FollowAnswer:
        """Update the dates and labels on stored chunks from the registry."""
        await knowledge.sync()
        return FollowAnswer(Followed())

    async def compare_policy_revisions(
        source: Source,
        before: Name | None = None,
        after: Name | None = None,
        section_ref: Name | None = None,
        from_row: Annotated[int, Field(ge=0)] = 0,
    ) -> CompareAnswer:
        """Compare two revisions, named by their ids or dates, by default the two newest."""
        return CompareAnswer(
            await compare_revisions(knowledge, source, before, after, section_ref, from_row)
        )

    async def outline_policy_revision(source: Source, revision: Name | None = None) -> Outline:
        """List the sections of a revision, named by its id or a day; by default today's."""
        return await outline(knowledge, source, revision)

    return [
        make_tool(outline_policy_revision, title="Outline a revision", read_only=True),
        make_tool(bring_into_step, title="Follow the registry", read_only=False),
        make_tool(compare_policy_revisions, title="Compare two revisions", read_only=True),
    ]


def _cut_to_fit(queries: list[str], found: list[list[Result]]) -> list[list[Result]]:
    """Keep the best results of each query, as many as fit into one answer beside the queries.

    The space is shared evenly between the queries.
    """
    ranks = sorted(
        (rank, place) for place, results in enumerate(found) for rank in range(len(results))
    )
    carried = [*queries, *(found[place][rank] for rank, place in ranks)]
    fitting = set(ranks[: max(0, how_many_fit(carried) - len(queries))])
    return [
        [result for rank, result in enumerate(results) if (rank, place) in fitting]
        for place, results in enumerate(found)
    ]
