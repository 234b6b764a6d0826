from dataclasses import fields
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from quinion.errors import InvalidInput
from quinion.model.policy import (
    SEED_POLICIES,
    Policy,
    PolicyCategory,
    PolicyDraft,
    Revision,
    RevisionDraft,
    RevisionEdit,
    RevisionStatus,
    RevisionUpdate,
)

NOW = datetime(2026, 2, 14, 12, tzinfo=UTC)
NOT_UNICODE = "\udcff"


def test_the_fields_are_those_of_the_spec() -> None:
    assert " ".join(field.name for field in fields(Policy)) == (
        "source title description category created_at updated_at"
    )
    assert " ".join(field.name for field in fields(Revision)) == (
        "revision_id source version_label effective_from effective_to status file_path "
        "file_size_bytes page_count chunk_count notes created_at ingested_at error "
        "draft closed"  # additions
    )
    assert " ".join(RevisionStatus) == "processing active superseded failed"
    assert " ".join(PolicyCategory) == (
        "national_policy national_guidance local_plan local_guidance county_strategy"
    )


def test_the_seed_policies_are_those_of_the_spec() -> None:
    assert [(seed.source, seed.title, seed.category.value) for seed in SEED_POLICIES] == [
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


@pytest.mark.parametrize("slug", ["A", "NPPF", "LTN_1_20", "A1_B2", "A_1"])
def test_a_slug_is_upper_snake_case(slug: str) -> None:
    assert PolicyDraft(slug, "T", PolicyCategory.LOCAL_PLAN).source == slug


@pytest.mark.parametrize(
    "slug", ["", "nppf", "1A", "_A", "A_", "A__B", "A-B", "A B", "A:B", "NPPF\n", "É", NOT_UNICODE]
)
def test_any_other_slug_is_refused(slug: str) -> None:
    with pytest.raises(InvalidInput, match="slug"):
        PolicyDraft(slug, "T", PolicyCategory.LOCAL_PLAN)


@pytest.mark.parametrize("text", ["", "  \n", NOT_UNICODE])
def test_titles_and_labels_are_texts(text: str) -> None:
    with pytest.raises(InvalidInput, match="title"):
        PolicyDraft("A", text, PolicyCategory.LOCAL_PLAN)
    with pytest.raises(InvalidInput, match="version_label"):
        RevisionDraft(text, date(2024, 1, 1))
    with pytest.raises(InvalidInput, match="version_label"):
        RevisionEdit(version_label=text)


@pytest.mark.parametrize("revision_id", ["", "a__b", "a:b", "../a", "a_", NOT_UNICODE])
def test_a_revision_id_can_be_part_of_a_chunk_id(revision_id: str) -> None:
    with pytest.raises(InvalidInput, match="revision id"):
        RevisionDraft("L", date(2024, 1, 1), revision_id=revision_id)


def test_values_that_a_registry_cannot_store_are_refused() -> None:
    with pytest.raises(InvalidInput, match="file_path"):
        RevisionDraft("L", date(2024, 1, 1), file_path=Path(NOT_UNICODE))
    with pytest.raises(InvalidInput, match="notes"):
        RevisionEdit(notes=NOT_UNICODE)
    with pytest.raises(InvalidInput, match="error"):
        RevisionUpdate(error=NOT_UNICODE)
    with pytest.raises(InvalidInput, match="chunk_count"):
        RevisionUpdate(chunk_count=-1)


def test_a_revision_covers_both_its_ends_and_nothing_beyond() -> None:
    draft = RevisionDraft("L", date(2023, 9, 5), date(2024, 12, 11))
    revision = draft.register("NPPF", "rev", NOW)
    assert revision.covers(date(2023, 9, 5))
    assert revision.covers(date(2024, 12, 11))
    assert not revision.covers(date(2023, 9, 4))
    assert not revision.covers(date(2024, 12, 12))


def test_a_revision_may_last_one_day_but_not_less() -> None:
    day = date(2024, 1, 2)
    assert RevisionDraft("L", day, day).register("A", "rev", NOW).covers(day)
    with pytest.raises(InvalidInput, match=r"effective_to \(2024-01-01\) is before"):
        RevisionDraft("L", day, date(2024, 1, 1)).register("A", "rev", NOW)


def test_the_sentinel_of_an_open_end_is_not_a_date_of_its_own() -> None:
    with pytest.raises(InvalidInput, match="Leave effective_to out"):
        RevisionDraft("L", date(2024, 1, 1), date(9999, 12, 31)).register("A", "rev", NOW)
