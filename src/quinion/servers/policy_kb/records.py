"""Stored chunks of policies: collection, ids and metadata, as the contract prescribes them."""

import re
from collections.abc import Collection, Sequence
from datetime import date

from quinion.ingest.policies import Key
from quinion.model.dates import OPEN_END, date_to_int, end_to_int
from quinion.model.page import PAGE_SPANS, format_spans, parse_spans
from quinion.model.policy import Policy, Revision
from quinion.model.record import Metadata, Record, flag, is_flagged
from quinion.model.section import SectionChunk
from quinion.search.merge import Merging
from quinion.store.base import Selector
from quinion.store.filters import Where, all_of, any_of

CHUNKS = "policy_docs"
MERGING = Merging(document=("source", "revision_id"), overlap=True)

NEVER = 0
"""The `effective_to` of a draft's chunks."""
_PATH_SEPARATOR = "\n"


IMPORTABLE = {
    CHUNKS: frozenset(
        {
            *("source", "source_title", "revision_id", "version_label", "effective_from"),
            *("effective_to", "section_ref", "page_number", "chunk_index"),
        }
    )
}
"""Collections and required metadata that other programs write under the contract."""


def select_revision(source: str, revision_id: str) -> Selector:
    """Select all chunks of a revision."""
    return Selector.by_values(CHUNKS, source=source, revision_id=revision_id)


def registry_metadata(revision: Revision) -> Metadata:
    """Return the chunk metadata that is copied from the registry and must follow its changes.

    The dates of a draft's chunks match no day, so that dated searches of other programs skip them.
    """
    if revision.draft:
        dates = {"effective_from": OPEN_END, "effective_to": NEVER}
        return {"version_label": revision.version_label, **dates}
    return {
        "version_label": revision.version_label,
        "effective_from": date_to_int(revision.effective_from),
        "effective_to": end_to_int(revision.effective_to),
    }


def filter_in_force(day: date, in_force: Collection[Key]) -> Where | None:
    """Build a filter for chunks of these revisions in force on the day, both ends included."""
    number = date_to_int(day)
    revisions = [
        {"$and": [{"source": source}, {"revision_id": revision_id}]}
        for source, revision_id in in_force
    ]
    return all_of(
        {"effective_from": {"$lte": number}}, {"effective_to": {"$gte": number}}, any_of(*revisions)
    )


def filter_drafts() -> Where:
    """Build a filter for chunks that are not a draft's."""
    return {"effective_to": {"$gt": NEVER}}


def filter_sources(sources: Sequence[str]) -> Where:
    """Build a filter for chunks of these policies."""
    return {"source": sources[0]} if len(sources) == 1 else {"source": {"$in": list(sources)}}


def chunk_records(
    policy: Policy, revision: Revision, chunks: Sequence[SectionChunk], file_hash: str
) -> list[Record]:
    """Build the stored records of a revision's chunks.

    The keys after `chunk_index` are additions to the contract. They allow complete sections to be
    reassembled without overlaps, and without the text below a bare heading: `own_chars` is the
    length of the heading, `page_spans` are the places of the chunk on its pages, and `file_hash` is
    the hash of the file. The last one is the hidden-text flag.
    """
    from_registry = registry_metadata(revision)
    return [
        Record(
            id=chunk_id(policy.source, revision.revision_id, chunk),
            text=chunk.found_text,
            metadata={
                "source": policy.source,
                "source_title": policy.title,
                "revision_id": revision.revision_id,
                **from_registry,
                "section_ref": chunk.ref,
                "page_number": chunk.pages[0],
                "chunk_index": chunk.index,
                "page_numbers": ",".join(map(str, chunk.pages)),
                "section_path": _PATH_SEPARATOR.join(chunk.path),
                "section_index": chunk.section_index,
                "char_start": chunk.start,
                **({"own_chars": len(chunk.text)} if chunk.below else {}),
                PAGE_SPANS: format_spans(chunk.page_spans),
                "file_hash": file_hash,
                **flag(chunk.has_hidden),
            },
        )
        for chunk in chunks
    ]


def to_chunk(record: Record) -> SectionChunk:
    """Restore a chunk from its record, which may have the contract's fields only.

    The text below a bare heading is left out: its own chunk has it.
    """
    data = record.metadata
    text = record.text[: int(data.get("own_chars", len(record.text)))]
    ref, index = str(data["section_ref"]), int(data["chunk_index"])
    start = int(data.get("char_start", 0))
    return SectionChunk(
        index=index,
        text=text,
        ref=ref,
        path=tuple(str(data.get("section_path", ref)).split(_PATH_SEPARATOR)),
        pages=tuple(map(int, str(data.get("page_numbers", data["page_number"])).split(","))),
        section_index=int(data.get("section_index", index)),
        start=start,
        end=start + len(text),
        has_hidden=is_flagged(data),
        page_spans=parse_spans(str(data.get(PAGE_SPANS, ""))),
    )


def chunk_id(source: str, revision_id: str, chunk: SectionChunk) -> str:
    """Return the id of a chunk, as the contract prescribes it."""
    return f"{source}__{revision_id}__{_slugify(chunk.ref)}__{chunk.index:03d}"


def _slugify(section_ref: str) -> str:
    """Replace each run of other characters than letters and digits with one `_`, for ids."""
    return re.sub(r"[\W_]+", "_", section_ref).strip("_") or "section"
