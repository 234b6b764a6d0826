"""What the tests of this contract ask over and over, and the shapes that it prescribes."""

from pathlib import Path
from typing import Any

from tests.contract.session import Answer, Session

REF = "25/01178/REM"
CHUNKS = "application_docs"
REGISTRY = "document_registry"

DOCUMENT_TYPES = [
    "transport_assessment",
    "design_access_statement",
    "site_plan",
    "floor_plan",
    "elevation",
    "planning_statement",
    "environmental_statement",
    "noise_assessment",
    "flood_risk_assessment",
    "ecology_report",
    "heritage_statement",
    "arboricultural_report",
    "other",
]
SUCCESS_KEYS = {
    "status",
    "document_id",
    "chunks_created",
    "extraction_method",
    "contains_drawings",
    "total_chars",
    "total_words",
}
ALREADY_KEYS = {"status", "document_id", "message"}
SKIPPED_KEYS = {"status", "reason", "image_ratio", "total_pages"}
ERROR_KEYS = {"status", "error_type", "message"}
RESULT_KEYS = {"chunk_id", "text", "relevance_score", "metadata"}
CHUNK_FIELDS = {
    "application_ref": str,
    "document_id": str,
    "source_file": str,
    "document_type": str,
    "page_numbers": str,
    "chunk_index": int,
    "total_chunks": int,
    "extraction_method": str,
    "char_count": int,
    "word_count": int,
}
ADDED_FIELDS = {"title", "ingested_at"}
"""What a result says of its document beyond the contract."""
REGISTRY_FIELDS = {
    "file_path": str,
    "file_hash": str,
    "application_ref": str,
    "document_type": str,
    "chunk_count": int,
    "ingested_at": str,
    "extraction_method": str,
    "contains_drawings": bool,
}
REGISTRY_ADDITIONS = {"page_count": int}


def ingest(session: Session, file: Path | str, ref: str = REF, **options: Any) -> Answer:
    """The answer of `ingest_document`, whatever it is."""
    return session.call("ingest_document", file_path=str(file), application_ref=ref, **options)


def ingest_well(session: Session, file: Path | str, ref: str = REF, **options: Any) -> Answer:
    """The answer of an ingest that succeeds."""
    answer = ingest(session, file, ref, **options)
    assert answer["status"] == "success", answer
    assert set(answer) == SUCCESS_KEYS
    return answer


def list_documents(session: Session, ref: str = REF) -> list[Answer]:
    """What is listed for an application."""
    answer = session.call("list_ingested_documents", application_ref=ref)
    assert answer["status"] == "success", answer
    documents: list[Answer] = answer["documents"]
    assert answer["document_count"] == len(documents)
    return documents


def find(session: Session, query: str, **options: Any) -> list[Answer]:
    """The results of a search that succeeds."""
    answer = session.call("search_application_docs", query=query, **options)
    assert answer["status"] == "success", answer
    results: list[Answer] = answer["results"]
    assert answer["results_count"] == len(results)
    return results


def chunks_of(session: Session, document_id: str, ref: str = REF) -> list[Answer]:
    """All chunks of a document, in order."""
    found = find(session, "anything", application_ref=ref, max_results=1000)
    chunks = [chunk for chunk in found if chunk["metadata"]["document_id"] == document_id]
    return sorted(chunks, key=lambda chunk: chunk["metadata"]["chunk_index"])


def read_text(session: Session, document_id: str, **options: Any) -> str:
    """A document's text, when it is not too long for one answer."""
    answer = session.call("get_document_text", document_id=document_id, **options)
    assert answer["status"] == "success", answer
    assert answer["next_chunk"] is None
    text: str = answer["text"]
    return text


def refusal(answer: Answer, error_type: str) -> str:
    """The message of an error of this type, in the contract's envelope and no other."""
    assert answer["status"] == "error", answer
    assert set(answer) == ERROR_KEYS
    assert answer["error_type"] == error_type, answer
    message: str = answer["message"]
    assert message.strip()
    return message
