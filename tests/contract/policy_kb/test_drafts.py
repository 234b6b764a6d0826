"""Drafts, which are an addition: a client of the contract never meets one."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from quinion.model.policy import RevisionDraft
from quinion.store.policies import PolicyRegistry
from tests.contract.policy_kb.asking import (
    REVISION_KEYS,
    find,
    ingest_well,
    list_revisions,
    revise,
    today,
)
from tests.contract.policy_kb.policies import leaflet
from tests.contract.session import Session

START = date(2020, 1, 1)


@pytest.fixture
def drafted(session: Session, registry: PolicyRegistry, source: str, files: Path) -> str:
    """A policy with a text in force and a draft of the same days; the id of the draft."""
    current = revise(registry, source, "Current", START)
    ingest_well(session, source, current, leaflet(files / f"{source}.pdf", "A"))
    new = RevisionDraft("Draft", START, as_draft=True)
    draft = registry.create_revision(source, new).revision.revision_id
    ingest_well(session, source, draft, leaflet(files / f"{source} draft.pdf", "B"))
    return draft


def found(session: Session, source: str, **options: object) -> set[str]:
    results = find(session, "hedges", sources=[source], n_results=50, **options)
    return {result["revision_id"] for result in results}


def test_a_draft_is_found_by_its_id_alone(session: Session, source: str, drafted: str) -> None:
    assert drafted not in found(session, source)
    assert drafted not in found(session, source, effective_date=str(today()))
    assert found(session, source, revision_id=drafted) == {drafted}
    assert found(session, source, revision_id=drafted, effective_date=str(today())) == set()


def test_a_draft_is_listed_as_processing_with_a_mark(
    session: Session, source: str, drafted: str
) -> None:
    entries = {entry["revision_id"]: entry for entry in list_revisions(session, source)}
    draft = entries.pop(drafted)
    assert (draft["status"], draft["draft"]) == ("processing", True)
    assert draft["chunk_count"] > 0
    [current] = entries.values()
    assert set(current) == REVISION_KEYS
    assert (current["status"], current["effective_to"]) == ("active", None)


def test_a_published_draft_is_found_on_its_days(
    session: Session, source: str, registry: PolicyRegistry, drafted: str
) -> None:
    start = today() - timedelta(days=10)
    registry.publish_revision(source, drafted, start)
    assert found(session, source, effective_date=str(today())) == {drafted}
    assert drafted not in found(session, source, effective_date=str(start - timedelta(days=1)))
    assert drafted in found(session, source)


def test_the_text_in_force_is_active_although_a_later_one_is_registered(
    session: Session, registry: PolicyRegistry, source: str, files: Path
) -> None:
    current = revise(registry, source, "Current", START)
    ingest_well(session, source, current, leaflet(files / f"{source} now.pdf", "A"))
    future = revise(registry, source, "Future", today() + timedelta(days=30))
    ingest_well(session, source, future, leaflet(files / f"{source} later.pdf", "B"))
    assert [entry["status"] for entry in list_revisions(session, source)] == ["active", "active"]
    assert registry.get_revision(source, current).status == "superseded"
