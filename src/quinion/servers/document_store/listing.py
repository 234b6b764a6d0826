"""Lists of applications and of their documents."""

from collections import Counter
from collections.abc import Sequence

from quinion.engine import Engine
from quinion.errors import InvalidInput
from quinion.model.document_type import DocumentType
from quinion.servers.base import SHOWN_CHARACTERS, SHOWN_NAMES
from quinion.servers.document_store.answers import Application, Applications, Listed, Listing
from quinion.servers.document_store.records import REGISTRY
from quinion.servers.response_size import how_many_fit
from quinion.store.base import Selector
from quinion.store.filters import all_of


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
    )


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
