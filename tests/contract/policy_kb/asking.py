"""What the tests of this contract ask over and over, and the shapes that it prescribes."""

from datetime import UTC, date, datetime
from itertools import count
from pathlib import Path
from typing import Any

from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft
from quinion.store.policies import PolicyRegistry
from tests.contract.session import Answer, Session

ERROR_KEYS = {"status", "error_type", "message"}
SEARCH_KEYS = {"status", "query", "effective_date", "results_count", "results"}
SEARCH_ADDITIONS = {"truncated", "more"}
RESULT_FIELDS = {
    "chunk_id": str,
    "text": str,
    "relevance_score": float,
    "source": str,
    "revision_id": str,
    "version_label": str,
    "section_ref": str,
    "page_number": int,
}
SECTION_KEYS = {
    "status",
    "source",
    "section_ref",
    "revision_id",
    "version_label",
    "text",
    "page_numbers",
}
SECTION_ADDITIONS = {"next_part", "evidence"}
POLICIES_KEYS = {"status", "policy_count", "policies"}
POLICIES_ADDITIONS = {"truncated"}
POLICY_KEYS = {"source", "title", "category"}
REVISIONS_KEYS = {"status", "source", "revision_count", "revisions"}
REVISIONS_ADDITIONS = {"next_revision"}
REVISION_ADDITIONS = {"draft", "error"}
REVISION_KEYS = {
    "revision_id",
    "version_label",
    "effective_from",
    "effective_to",
    "status",
    "chunk_count",
}
INGEST_KEYS = {
    "status",
    "source",
    "revision_id",
    "chunks_created",
    "page_count",
    "extraction_method",
}
REMOVE_KEYS = {"status", "source", "revision_id", "chunks_removed"}
CHUNK_FIELDS = {
    "source": str,
    "source_title": str,
    "revision_id": str,
    "version_label": str,
    "effective_from": int,
    "effective_to": int,
    "section_ref": str,
    "page_number": int,
    "chunk_index": int,
}


_sources = count(1)


def today() -> date:
    """As the server counts days."""
    return datetime.now(UTC).date()


def register(registry: PolicyRegistry, title: str = "A policy of tests") -> str:
    """Register a policy of a source that no other has."""
    source = f"TEST_{next(_sources)}"
    registry.create_policy(PolicyDraft(source, title, PolicyCategory.LOCAL_GUIDANCE))
    return source


def revise(
    registry: PolicyRegistry,
    source: str,
    label: str,
    start: date,
    end: date | None = None,
    revision_id: str | None = None,
) -> str:
    """Register a revision; its id."""
    draft = RevisionDraft(label, start, end, revision_id)
    return registry.create_revision(source, draft).revision.revision_id


def ingest(
    session: Session, source: str, revision_id: str, file: Path | str, **options: Any
) -> Answer:
    """The answer of `ingest_policy_revision`, whatever it is."""
    return session.call(
        "ingest_policy_revision",
        source=source,
        revision_id=revision_id,
        file_path=str(file),
        **options,
    )


def ingest_well(
    session: Session, source: str, revision_id: str, file: Path | str, **options: Any
) -> Answer:
    """The answer of an ingest that succeeds."""
    answer = ingest(session, source, revision_id, file, **options)
    assert answer["status"] == "success", answer
    assert set(answer) == INGEST_KEYS
    assert (answer["source"], answer["revision_id"]) == (source, revision_id)
    return answer


def remove(session: Session, source: str, revision_id: str) -> int:
    """How many chunks `remove_policy_revision` says that it removed."""
    answer = session.call("remove_policy_revision", source=source, revision_id=revision_id)
    assert answer["status"] == "success", answer
    assert set(answer) == REMOVE_KEYS
    assert (answer["source"], answer["revision_id"]) == (source, revision_id)
    count: int = answer["chunks_removed"]
    return count


def find(session: Session, query: str, **options: Any) -> list[Answer]:
    """The results of a search that succeeds."""
    answer = session.call("search_policy", query=query, **options)
    assert answer["status"] == "success", answer
    results: list[Answer] = answer["results"]
    assert answer["results_count"] == len(results)
    return results


def found_on(session: Session, source: str, day: date | str | None) -> set[str]:
    """The revisions of a policy of which something is found on a day."""
    given = day if day is None else str(day)
    results = find(session, "anything", sources=[source], effective_date=given, n_results=1000)
    return {result["revision_id"] for result in results}


def chunks_of(session: Session, source: str, revision_id: str) -> list[Answer]:
    """All chunks of a revision, in the order of the document."""
    found = find(session, "anything", sources=[source], n_results=1000)
    chunks = [chunk for chunk in found if chunk["revision_id"] == revision_id]
    return sorted(chunks, key=lambda chunk: int(chunk["chunk_id"].rsplit("__", 1)[1]))


def read(session: Session, source: str, section_ref: str, **options: Any) -> Answer:
    """A section that is there, and whole; with evidence, where its file was kept."""
    answer = session.call("get_policy_section", source=source, section_ref=section_ref, **options)
    assert answer["status"] == "success", answer
    assert set(answer) | {"evidence"} == SECTION_KEYS | SECTION_ADDITIONS
    assert answer["next_part"] is None
    return answer


def list_policies(session: Session) -> list[Answer]:
    """What `list_policy_documents` lists, when it is not too long for one answer."""
    answer = session.call("list_policy_documents")
    assert answer["status"] == "success", answer
    assert set(answer) == POLICIES_KEYS | POLICIES_ADDITIONS
    assert answer["truncated"] is False
    policies: list[Answer] = answer["policies"]
    assert answer["policy_count"] == len(policies)
    return policies


def list_revisions(session: Session, source: str) -> list[Answer]:
    """What `list_policy_revisions` lists, when it is not too long for one answer."""
    answer = session.call("list_policy_revisions", source=source)
    assert answer["status"] == "success", answer
    assert set(answer) == REVISIONS_KEYS | REVISIONS_ADDITIONS
    assert (answer["source"], answer["next_revision"]) == (source, None)
    revisions: list[Answer] = answer["revisions"]
    assert answer["revision_count"] == len(revisions)
    return revisions


def refusal(answer: Answer, error_type: str) -> str:
    """The message of an error of this type, in the contract's envelope and no other."""
    assert answer["status"] == "error", answer
    assert set(answer) == ERROR_KEYS
    assert answer["error_type"] == error_type, answer
    message: str = answer["message"]
    assert message.strip()
    return message
