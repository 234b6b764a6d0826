"""`list_policy_documents` and `list_policy_revisions`: the registry, as it is now."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from quinion.model.policy import (
    SEED_POLICIES,
    PolicyCategory,
    PolicyDraft,
    RevisionStatus,
    RevisionUpdate,
)
from quinion.store.policies import PolicyRegistry
from tests.contract.policy_kb.asking import (
    POLICY_KEYS,
    REVISION_KEYS,
    ingest_well,
    list_policies,
    list_revisions,
    refusal,
    revise,
)
from tests.contract.policy_kb.conftest import NewPlace
from tests.contract.policy_kb.policies import FRAMEWORK_CHUNKS, leaflet
from tests.contract.policy_kb.serving import Place
from tests.contract.session import Session

SEEDS = [
    ("LTN_1_20", "Cycle Infrastructure Design (LTN 1/20)", "national_guidance"),
    ("NPPF", "National Planning Policy Framework", "national_policy"),
    ("MANUAL_FOR_STREETS", "Manual for Streets", "national_guidance"),
    ("CHERWELL_LOCAL_PLAN", "Cherwell Local Plan 2011-2031", "local_plan"),
    ("OCC_LTCP", "Oxfordshire Local Transport and Connectivity Plan", "county_strategy"),
    (
        "BICESTER_LCWIP",
        "Bicester Local Cycling and Walking Infrastructure Plan",
        "local_guidance",
    ),
]


@pytest.fixture(scope="module")
def empty_place(kind: str, new_place: NewPlace) -> Place:
    return new_place(kind)


@pytest.fixture(scope="module")
def empty(empty_place: Place) -> Iterator[Session]:
    """A server of which nothing has been asked yet."""
    with empty_place.session() as session:
        yield session


def test_an_empty_registry_has_no_policies_and_then_all_six_seeds(
    empty: Session, empty_place: Place
) -> None:
    answer = empty.call("list_policy_documents")
    assert answer == {"status": "success", "policy_count": 0, "policies": [], "truncated": False}
    with empty_place.registry() as registry:
        for draft in SEED_POLICIES:
            registry.create_policy(draft)
    listed = [(p["source"], p["title"], p["category"]) for p in list_policies(empty)]
    assert listed == sorted(SEEDS)
    assert len(listed) == 6


def test_a_policy_has_the_keys_of_the_contract(library: Session) -> None:
    for policy in list_policies(library):
        assert set(policy) == POLICY_KEYS


@pytest.mark.parametrize("category", PolicyCategory)
def test_a_category_is_listed_in_the_words_of_the_contract(
    session: Session, registry: PolicyRegistry, category: PolicyCategory
) -> None:
    source = f"OF_{category.name}"
    registry.create_policy(PolicyDraft(source, "A title", category))
    [listed] = [policy for policy in list_policies(session) if policy["source"] == source]
    assert listed == {"source": source, "title": "A title", "category": category.value}
    assert category.value in {
        *("national_policy", "national_guidance", "local_plan", "local_guidance"),
        "county_strategy",
    }


def test_the_spec_s_example_of_two_revisions(library: Session) -> None:
    answer = library.call("list_policy_revisions", source="NPPF")
    assert answer.pop("next_revision") is None  # our addition
    assert answer == {
        "status": "success",
        "source": "NPPF",
        "revision_count": 2,
        "revisions": [
            {
                "revision_id": "rev_NPPF_2024_12",
                "version_label": "December 2024",
                "effective_from": "2024-12-12",
                "effective_to": None,
                "status": "active",
                "chunk_count": FRAMEWORK_CHUNKS,
            },
            {
                "revision_id": "rev_NPPF_2023_09",
                "version_label": "September 2023",
                "effective_from": "2023-09-05",
                "effective_to": "2024-12-11",
                "status": "superseded",
                "chunk_count": FRAMEWORK_CHUNKS,
            },
        ],
    }


def test_a_policy_with_a_single_revision_has_a_list_of_one(library: Session) -> None:
    [revision] = list_revisions(library, "LTN_1_20")
    assert set(revision) == REVISION_KEYS


def test_a_policy_without_revisions_has_an_empty_list(session: Session, source: str) -> None:
    assert list_revisions(session, source) == []


def test_the_newest_comes_first_in_whatever_order_they_were_registered(
    session: Session, registry: PolicyRegistry, source: str
) -> None:
    for start, end in (
        (date(2015, 1, 1), date(2015, 12, 31)),
        (date(2020, 1, 1), None),
        (date(1969, 7, 20), date(1970, 1, 1)),
        (date(2010, 1, 1), date(2010, 12, 31)),
        (date(2022, 1, 1), None),
    ):
        revise(registry, source, str(start), start, end)
    listed = list_revisions(session, source)
    starts = [revision["effective_from"] for revision in listed]
    assert starts == ["2022-01-01", "2020-01-01", "2015-01-01", "2010-01-01", "1969-07-20"]
    assert [revision["effective_to"] for revision in listed][:2] == [None, "2021-12-31"]


def test_two_revisions_in_a_month_have_distinct_ids(
    session: Session, registry: PolicyRegistry, source: str
) -> None:
    revise(registry, source, "first", date(2024, 12, 1), date(2024, 12, 11))
    revise(registry, source, "second", date(2024, 12, 12))
    ids = [revision["revision_id"] for revision in list_revisions(session, source)]
    assert ids == [f"rev_{source}_2024_12_2", f"rev_{source}_2024_12"]


def test_each_status_is_listed_in_the_words_of_the_contract(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    file = leaflet(tmp_path / "a.pdf", "A")
    a = revise(registry, source, "A", date(2020, 1, 1), date(2020, 12, 31))
    b = revise(registry, source, "B", date(2021, 1, 1), date(2021, 12, 31))
    c = revise(registry, source, "C", date(2022, 1, 1), date(2022, 12, 31))
    ingest_well(session, source, c, file)
    ingest_well(session, source, a, file)
    assert [r["status"] for r in list_revisions(session, source)] == [
        *("active", "processing", "superseded")
    ]
    registry.update_revision(source, b, RevisionUpdate(RevisionStatus.FAILED, error="no"))
    assert list_revisions(session, source)[1]["status"] == "failed"
    assert [r["chunk_count"] for r in list_revisions(session, source)] == [5, 0, 5]


@pytest.mark.parametrize("source", ["NOT_THERE", "", "nppf", "NPPF ", "*", "NPPF:x"])
def test_an_unknown_policy_has_no_revisions_to_list(library: Session, source: str) -> None:
    answer = library.call("list_policy_revisions", source=source)
    refusal(answer, "policy_not_found")
