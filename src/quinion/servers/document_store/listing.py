"""Lists of applications and of their documents, and hints for references that are not known."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from quinion.engine import Engine
from quinion.errors import DocumentMissing, InvalidInput
from quinion.model.document_type import DocumentType
from quinion.model.record import Hit, Metadata, is_flagged
from quinion.servers.base import SHOWN_CHARACTERS, SHOWN_NAMES
from quinion.servers.document_store.answers import (
    Application,
    Applications,
    Listed,
    Listing,
    Stored,
    StoredChunk,
    StoredChunks,
    StoredDocuments,
    StoredPage,
)
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.servers.response_size import how_many_fit
from quinion.store.base import Selector
from quinion.store.filters import all_of

MAX_HINTS = 3
MIN_SIMILARITY = 0.6


async def list_documents(
    engine: Engine, application_ref: str, from_document: int, kind: str | None = None
) -> Listing:
    """List the documents of an application in order of ingestion, optionally of one type only.

    The list holds as many as fit into one answer.

    Raises:
        InvalidInput: the reference is empty.
    """
    ref = check_ref(application_ref)
    where = all_of({"application_ref": ref}, {"document_type": kind} if kind else None)
    records = await engine.collections.get(REGISTRY, where=where)
    documents = sorted(
        (Listed.of(record) for record in records),
        key=lambda document: (document.ingested_at, document.document_id),
    )
    rest = documents[from_document:]
    count = how_many_fit(rest)
    return Listing(
        application_ref=ref,
        document_count=len(documents),
        documents=rest[:count],
        next_document=from_document + count if count < len(rest) else None,
        hint=None if documents else await hint_at_known(engine, ref),
    )


async def hint_at_known(engine: Engine, application_ref: str) -> str | None:
    """Name the references nearest to an unknown one; None if the application has documents."""
    known = {str(r.metadata["application_ref"]) for r in await engine.collections.get(REGISTRY)}
    if application_ref in known:
        return None
    if not known:
        return "No document has been ingested yet. ingest_document adds one."
    by_spelling: defaultdict[str, list[str]] = defaultdict(list)
    for ref in sorted(known):
        by_spelling[_simplify(ref)].append(ref)
    near = get_close_matches(_simplify(application_ref), by_spelling, MAX_HINTS, MIN_SIMILARITY)
    named = [ref for spelling in near for ref in by_spelling[spelling]][:MAX_HINTS]
    if named:
        names = ", ".join(named)
        return f"No document of {application_ref} has been ingested. The nearest known: {names}."
    return (
        f"No document of {application_ref} has been ingested, and none of a similar reference. "
        f"Applications with documents: {len(known)}, such as {min(known)}."
    )


async def documents_of(engine: Engine, hits: Iterable[Hit]) -> Mapping[str, Metadata]:
    """Read the registry's metadata of the documents that were found, by document id."""
    ids = list(dict.fromkeys(str(hit.record.metadata["document_id"]) for hit in hits))
    return {one.id: one.metadata for one in await engine.collections.get(REGISTRY, ids=ids)}


async def list_stored(
    engine: Engine, application_ref: str | None, from_document: int
) -> StoredDocuments:
    """List the documents of one application or of all, by application and date."""
    where = {"application_ref": check_ref(application_ref)} if application_ref is not None else None
    documents = [Stored.of(one) for one in await engine.collections.get(REGISTRY, where=where)]
    documents.sort(key=lambda one: (one.application_ref, one.ingested_at, one.document_id))
    rest = documents[from_document:]
    count = how_many_fit(rest)
    return StoredDocuments(
        document_count=len(documents),
        documents=rest[:count],
        next_document=from_document + count if count < len(rest) else None,
    )


async def page_stored(
    engine: Engine,
    application_ref: str | None,
    document_type: str | None,
    file_path: str | None,
    offset: int,
    limit: int,
) -> StoredPage:
    """List a part of the documents, newest first; the cost does not depend on their number."""
    where = all_of(
        {"application_ref": check_ref(application_ref)} if application_ref is not None else None,
        {"document_type": check_type(document_type)} if document_type is not None else None,
        {"file_path": file_path} if file_path is not None else None,
    )
    found = await engine.collections.get_newest(REGISTRY, offset, limit + 1, where)
    documents = [Stored.of(one) for one in found[:limit]]
    return StoredPage(documents=documents, has_more=len(found) > limit)


async def list_chunks(engine: Engine, document_id: str) -> StoredChunks:
    """List the chunks of a document in its order.

    Raises:
        DocumentMissing: the id is not in the registry.
    """
    if not await engine.collections.get(REGISTRY, ids=[document_id]):
        raise DocumentMissing(f"Document not found: {document_id}")
    records = await engine.collections.get(CHUNKS, where={"document_id": document_id})
    chunks = [
        StoredChunk(
            chunk_id=one.id,
            chunk_index=int(one.metadata["chunk_index"]),
            pages=[int(page) for page in str(one.metadata["page_numbers"]).split(",")],
            char_count=len(one.text),
            hidden_text=is_flagged(one.metadata),
        )
        for one in records
    ]
    chunks.sort(key=lambda chunk: chunk.chunk_index)
    return StoredChunks(chunks=chunks[: how_many_fit(chunks)])


async def show_stored(engine: Engine, document_id: str) -> Stored:
    """Describe one document, with the other versions of its file.

    Raises:
        DocumentMissing: the id is not in the registry.
    """
    found = await engine.collections.get(REGISTRY, ids=[document_id])
    if not found:
        raise DocumentMissing(f"Document not found: {document_id}")
    document = Stored.of(found[0])
    where = all_of({"application_ref": document.application_ref}, {"file_path": document.file_path})
    same = await engine.collections.get(REGISTRY, where=where)
    document.versions = [one.id for one in same if one.id != document_id]
    return document


def _simplify(application_ref: str) -> str:
    return re.sub(r"[\W_]+", "/", application_ref).casefold()


async def list_applications(engine: Engine) -> Applications:
    """List all applications that have documents."""
    counts = Counter(
        str(record.metadata["application_ref"]) for record in await engine.collections.get(REGISTRY)
    )
    applications = [
        Application(application_ref=ref, document_count=count)
        for ref, count in sorted(counts.items())
    ]
    fitting = applications[: how_many_fit(applications)]
    return Applications(
        application_count=len(applications),
        applications=fitting,
        truncated=len(fitting) < len(applications),
    )


def check_ref(application_ref: str) -> str:
    """Return the reference without surrounding white space.

    Raises:
        InvalidInput: the reference is empty.
    """
    if not (ref := application_ref.strip()):
        raise InvalidInput('application_ref is empty. Give a reference such as "25/01178/REM".')
    return ref


def check_type(document_type: str) -> str:
    """Return the type as it is: the contract lets callers use types of their own.

    Raises:
        InvalidInput: the type is empty.
    """
    if not document_type.strip():
        raise InvalidInput("A document type is empty. Leave it out, or give one such as 'other'.")
    return document_type


async def warn_of_types(engine: Engine, document_types: Sequence[str]) -> str:
    """Name the types that neither the contract nor any document has; empty if there are none."""
    unknown = [
        kind
        for kind in document_types
        if kind not in set(DocumentType)
        and not await engine.collections.count(Selector.by_values(REGISTRY, document_type=kind))
    ]
    if not unknown:
        return ""
    names = ", ".join(repr(kind[:SHOWN_CHARACTERS]) for kind in unknown[:SHOWN_NAMES])
    return f"No document has the type {names}. The known types are: {', '.join(DocumentType)}."
