"""`remove_policy_revision`: the chunks go, the registry's entry stays and tells the truth."""

from datetime import date
from pathlib import Path

import pytest

from quinion.store.policies import PolicyRegistry
from tests.contract.local import LocalServer
from tests.contract.policy_kb.asking import (
    REMOVE_KEYS,
    chunks_of,
    found_on,
    ingest_well,
    list_revisions,
    refusal,
    remove,
    revise,
)
from tests.contract.policy_kb.policies import leaflet
from tests.contract.session import Session


@pytest.fixture
def revisions(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> tuple[str, str]:
    """Two revisions with texts, the older one first."""
    a = revise(registry, source, "A", date(2020, 1, 1))
    b = revise(registry, source, "B", date(2022, 1, 1))
    ingest_well(session, source, a, leaflet(tmp_path / "a.pdf", "A", 3))
    ingest_well(session, source, b, leaflet(tmp_path / "b.pdf", "B", 4))
    return a, b


def test_the_chunks_of_one_revision_are_removed_and_counted(
    session: Session, source: str, revisions: tuple[str, str]
) -> None:
    a, b = revisions
    answer = session.call("remove_policy_revision", source=source, revision_id=a)
    assert set(answer) == REMOVE_KEYS
    assert answer == {"status": "success", "source": source, "revision_id": a, "chunks_removed": 5}
    assert found_on(session, source, None) == {b}
    assert found_on(session, source, "2021-01-01") == set()
    assert len(chunks_of(session, source, b)) == 6


def test_the_registry_s_entry_stays_and_has_no_chunks(
    session: Session, registry: PolicyRegistry, source: str, revisions: tuple[str, str]
) -> None:
    a, b = revisions
    before = {r.revision_id: r for r in registry.list_revisions(source)}
    remove(session, source, a)
    after = {r.revision_id: r for r in registry.list_revisions(source)}
    assert after[b] == before[b]
    assert after[a].chunk_count == 0
    assert (after[a].effective_from, after[a].effective_to) == (
        before[a].effective_from,
        before[a].effective_to,
    )
    assert after[a].status == before[a].status
    counts = {r["revision_id"]: r["chunk_count"] for r in list_revisions(session, source)}
    assert counts == {a: 0, b: 6}


def test_a_second_removal_finds_nothing_and_is_no_error(
    session: Session, source: str, revisions: tuple[str, str]
) -> None:
    assert remove(session, source, revisions[0]) == 5
    assert remove(session, source, revisions[0]) == 0


def test_removals_at_once_count_each_chunk_once(
    session: Session, source: str, revisions: tuple[str, str]
) -> None:
    jobs = [
        session.start("remove_policy_revision", source=source, revision_id=revisions[0])
        for _ in range(4)
    ]
    assert sorted(job.result()["chunks_removed"] for job in jobs) == [0, 0, 0, 5]


def test_a_revision_that_never_had_chunks_has_none_to_remove(
    session: Session, registry: PolicyRegistry, source: str
) -> None:
    a = revise(registry, source, "A", date(2020, 1, 1))
    before = registry.get_revision(source, a)
    assert remove(session, source, a) == 0
    assert registry.get_revision(source, a) == before


def test_what_is_not_registered_has_none_to_remove(session: Session, source: str) -> None:
    assert remove(session, source, "rev_X_2020_01") == 0
    assert remove(session, "NOT_THERE", "rev_X_2020_01") == 0


def test_what_is_asked_for_cannot_forge_a_line_of_the_log(
    session: Session, server: LocalServer
) -> None:
    before = len(server.log)
    assert remove(session, "X\nERROR forged: all is lost", "y\x1b[2J") == 0
    written = server.log[before:]
    assert "\nERROR" not in f"\n{written}"
    assert "\x1b" not in written


def test_the_text_can_be_ingested_again(
    session: Session, source: str, revisions: tuple[str, str], tmp_path: Path
) -> None:
    a, _ = revisions
    remove(session, source, a)
    ingest_well(session, source, a, tmp_path / "a.pdf")
    assert found_on(session, source, "2021-01-01") == {a}
    assert [r["status"] for r in list_revisions(session, source)] == ["active", "superseded"]


def test_chunks_that_the_registry_has_lost_can_be_removed(
    session: Session, registry: PolicyRegistry, source: str, revisions: tuple[str, str]
) -> None:
    a, b = revisions
    registry.delete_revision(source, a)  # as the spec's REST API may do, before it asks us
    assert found_on(session, source, "2021-01-01") == set()
    assert remove(session, source, a) == 5
    assert found_on(session, source, None) == {b}


def test_a_section_of_a_removed_text_is_not_found(
    session: Session, source: str, revisions: tuple[str, str]
) -> None:
    a, _ = revisions
    remove(session, source, a)
    answer = session.call(
        "get_policy_section", source=source, section_ref="Para 1.1", revision_id=a
    )
    refusal(answer, "section_not_found")
