"""Lookup of chunks by meaning, and of the revision in force on a day."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

from quinion.concurrency import in_thread
from quinion.errors import RevisionMissing
from quinion.ingest.policies import KnowledgeBase
from quinion.model.dates import parse_date
from quinion.model.policy import Revision, is_revision_id
from quinion.model.record import Hit, Mode
from quinion.model.revisions import latest_effective, newest_first, resolve
from quinion.search import modes
from quinion.search.query import check_query
from quinion.servers.base import SHOWN_CHARACTERS, SHOWN_NAMES
from quinion.servers.policy_kb.records import (
    CHUNKS,
    MERGING,
    filter_drafts,
    filter_in_force,
    filter_sources,
)
from quinion.store.filters import all_of


async def search(
    knowledge: KnowledgeBase,
    query: str,
    limit: int,
    sources: Sequence[str],
    day: date | None,
    revision_id: str | None = None,
    mode: Mode = Mode.SEMANTIC,
    *,
    merge: bool = False,
) -> list[Hit]:
    """Search chunks by meaning, by words, or by both.

    `sources` limits the search to these policies, `day` to the revisions in force on it. Drafts
    are searched only by their `revision_id`.
    """
    check_query(query)
    where = filter_sources(sources) if sources else None
    by_source = await knowledge.sync()
    if day is not None:
        await _check_readable(knowledge, [source for source in sources if source in by_source])
        found = (
            resolve(source, revisions, day).revision for source, revisions in by_source.items()
        )
        in_force = {(r.source, r.revision_id) for r in found if r}
        if not in_force:
            return []
        where = all_of(where, filter_in_force(day, in_force))
    if revision_id is not None:
        where = all_of(where, {"revision_id": revision_id})
    elif any(revision.draft for revisions in by_source.values() for revision in revisions):
        where = all_of(where, filter_drafts())
    resources = knowledge.resources
    found_hits = await modes.search(
        resources.collections,
        resources.embedder,
        CHUNKS,
        query,
        limit,
        where,
        mode,
        MERGING if merge else None,
    )
    return found_hits.hits


async def _check_readable(knowledge: KnowledgeBase, sources: Sequence[str]) -> None:
    """Raise an error, instead of finding nothing, if the revisions of a source are unreadable."""
    registry = await knowledge.registry()
    for source in sources:
        await in_thread(registry.list_revisions, source)


async def warn_of_sources(
    knowledge: KnowledgeBase, sources: Sequence[str], day: date | None
) -> str:
    """Name the sources that are not registered, or have no text on a day; empty if there is none.

    Only the named sources: of others, a text that was not in force on the day is not expected.
    """
    if not sources:
        return ""
    registry = await knowledge.registry()
    known = {policy.source for policy in await in_thread(registry.list_policies)}
    unknown = [repr(source[:SHOWN_CHARACTERS]) for source in sources if source not in known]
    found = []
    if unknown:
        found.append(f"Not registered: {', '.join(unknown[:SHOWN_NAMES])}. Check the source.")
    if day is not None:
        for source in [one for one in dict.fromkeys(sources) if one in known][:SHOWN_NAMES]:
            revisions = await in_thread(registry.list_revisions, source)
            if reason := resolve(source, revisions, day).reason:
                found.append(f"No text of {source} was in force on {day} ({reason}).")
    return " ".join(found)


async def find_revision(knowledge: KnowledgeBase, source: str, revision_id: str | None) -> Revision:
    """Find a revision by id; without an id, the one in force today or else the latest one
    that was in force.

    Raises:
        PolicyMissing, RevisionMissing: there is no such policy or revision.
    """
    registry = await knowledge.registry()
    if revision_id is not None:
        return await in_thread(registry.get_revision, source, revision_id)
    revisions = await in_thread(registry.list_revisions, source)
    found = latest_effective(revisions, datetime.now(UTC).date())
    if found is None:
        raise RevisionMissing(
            f"{source} has no revision that is or was in force. Ingest one, or name one."
        )
    return found


async def find_in_force(knowledge: KnowledgeBase, source: str, day: date) -> Revision:
    """Find the revision whose text was in force on a day.

    Raises:
        PolicyMissing: there is no such policy.
        RevisionMissing: no text of the policy was in force on the day.
    """
    registry = await knowledge.registry()
    revisions = await in_thread(registry.list_revisions, source)
    found = resolve(source, revisions, day)
    if found.revision:
        return found.revision
    why = ""
    if found.unready:
        why = f" {found.unready.revision_id} has that day, and its text is not ingested."
    raise RevisionMissing(
        f"No text of {source} was in force on {day} ({found.reason}).{why}{_list(revisions)}"
    )


def _list(revisions: Sequence[Revision]) -> str:
    listed = ", ".join(f"{one.revision_id} ({one.period})" for one in newest_first(revisions))
    return f" Its revisions: {listed}." if listed else ""


async def find_named(knowledge: KnowledgeBase, source: str, name: str) -> Revision:
    """Find a revision by its id, or the one in force on a day by `YYYY-MM-DD`.

    Raises:
        PolicyMissing, RevisionMissing: there is no such policy or revision.
        InvalidDate: it is neither an id nor a date.
    """
    if is_revision_id(name):
        return await find_revision(knowledge, source, name)
    return await find_in_force(knowledge, source, parse_date(name))


async def find_pair(
    knowledge: KnowledgeBase, source: str, before: str | None, after: str | None
) -> tuple[Revision, Revision]:
    """Find two revisions to compare, by ids or dates.

    Those left out are the newest with a text, drafts as well.

    Raises:
        PolicyMissing, RevisionMissing: there is no such policy or revision.
        InvalidDate: a name is neither an id nor a date.
    """
    registry = await knowledge.registry()
    listed = await in_thread(registry.list_revisions, source)
    ready = [one for one in newest_first(listed) if one.chunk_count and (one.is_ready or one.draft)]
    later = await find_named(knowledge, source, after) if after else next(iter(ready), None)
    if before:
        earlier: Revision | None = await find_named(knowledge, source, before)
    else:
        earlier = next((one for one in ready if one != later), None)
    if earlier is None or later is None:
        raise RevisionMissing(
            f"A comparison needs two revisions with a text, and {source} has {len(ready)}. "
            "Ingest the text of another one."
        )
    return earlier, later
