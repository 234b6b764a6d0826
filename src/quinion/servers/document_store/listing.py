"""Lists of applications and of their documents."""

from collections import Counter

from quinion.engine import Engine
from quinion.errors import InvalidInput
from quinion.model.document_type import DocumentType
from quinion.servers.document_store.answers import Application, Applications, Listed, Listing
from quinion.servers.document_store.records import REGISTRY
from quinion.servers.response_size import how_many_fit
from quinion.store.filters import all_of


async def list_documents(
    engine: Engine, application_ref: str, from_document: int, kind: DocumentType | None = None
) -> Listing:
    """List the documents of an application in order of ingestion, optionally of one type only.

    The list holds as many as fit into one answer.

    Raises:
        InvalidInput: the reference is empty.
    """
    ref = check_ref(application_ref)
    where = all_of({"application_ref": ref}, {"document_type": str(kind)} if kind else None)
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


def check_type(document_type: str) -> DocumentType:
    """Return the document type of this name.

    Raises:
        InvalidInput: there is no type of this name.
    """
    try:
        return DocumentType(document_type)
    except ValueError as error:
        raise InvalidInput(
            f"Unknown document type {document_type!r}. The types are: {', '.join(DocumentType)}."
        ) from error
