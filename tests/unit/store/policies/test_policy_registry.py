"""Policy registry: behaviour common to SQLite and Redis."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from quinion.errors import (
    InvalidInput,
    PolicyExists,
    PolicyMissing,
    QuinionError,
    RevisionExists,
    RevisionMissing,
    RevisionOverlap,
    SoleRevision,
)
from quinion.model.effective_dates import EffectiveDateResolver
from quinion.model.policy import (
    SEED_POLICIES,
    PolicyCategory,
    PolicyDraft,
    RevisionDraft,
    RevisionEdit,
    RevisionStatus,
    RevisionUpdate,
)
from quinion.model.revisions import Reason
from quinion.store.policies import PolicyRegistry
from tests.unit.store.policies.places import open_at

NPPF = PolicyDraft("NPPF", "National Planning Policy Framework", PolicyCategory.NATIONAL_POLICY)
SEPTEMBER = RevisionDraft("September 2023", date(2023, 9, 5))
DECEMBER = RevisionDraft("December 2024", date(2024, 12, 12))
READY = RevisionUpdate(status=RevisionStatus.ACTIVE, chunk_count=73)
NOT_UNICODE = "\udcff"


@pytest.fixture
def registry(tmp_path: Path, address: str) -> Iterator[PolicyRegistry]:
    registry = open_at(tmp_path / "registry.db", address)
    yield registry
    registry.close()


@pytest.fixture
def nppf(registry: PolicyRegistry) -> PolicyRegistry:
    """The spec's example: two revisions of the NPPF, the second in force."""
    registry.create_policy(NPPF)
    for draft in (SEPTEMBER, DECEMBER):
        made = registry.create_revision("NPPF", draft).revision
        registry.update_revision("NPPF", made.revision_id, READY)
    return registry


def contents(registry: PolicyRegistry) -> object:
    return registry.list_policies(), registry.list_all_revisions()


class TestPolicies:
    def test_a_policy_is_found_as_it_was_created(self, registry: PolicyRegistry) -> None:
        before = datetime.now(UTC).replace(microsecond=0)
        draft = PolicyDraft("A_1", "Ünïcode — title", PolicyCategory.LOCAL_PLAN, "For\ntwo lines")
        policy = registry.create_policy(draft)
        assert registry.get_policy("A_1") == policy
        assert (policy.source, policy.title) == ("A_1", "Ünïcode — title")
        assert (policy.category, policy.description) == ("local_plan", "For\ntwo lines")
        assert policy.created_at is not None
        assert policy.created_at == policy.updated_at
        assert before <= policy.created_at <= datetime.now(UTC)

    def test_the_seed_policies_are_listed_by_source(self, registry: PolicyRegistry) -> None:
        assert registry.list_policies() == []
        for draft in SEED_POLICIES:
            registry.create_policy(draft)
        listed = [policy.source for policy in registry.list_policies()]
        assert listed == sorted(draft.source for draft in SEED_POLICIES)
        assert registry.list_all_revisions() == {source: [] for source in listed}

    def test_a_second_policy_of_one_source_is_refused(self, nppf: PolicyRegistry) -> None:
        before = contents(nppf)
        with pytest.raises(PolicyExists, match="NPPF"):
            nppf.create_policy(PolicyDraft("NPPF", "Another", PolicyCategory.LOCAL_PLAN))
        assert contents(nppf) == before

    @pytest.mark.parametrize("source", ["OTHER", "nppf", "", "NPPF:rev", "*", NOT_UNICODE])
    def test_an_unknown_source_is_missing_everywhere(
        self, nppf: PolicyRegistry, source: str
    ) -> None:
        before = contents(nppf)
        for ask in (
            lambda: nppf.get_policy(source),
            lambda: nppf.list_revisions(source),
            lambda: nppf.get_revision(source, "rev_NPPF_2023_09"),
            lambda: EffectiveDateResolver(nppf).resolve_for_policy(source, date(2024, 1, 1)),
            lambda: nppf.create_revision(source, SEPTEMBER),
            lambda: nppf.edit_revision(source, "rev_NPPF_2023_09", RevisionEdit(notes="n")),
            lambda: nppf.update_revision(source, "rev_NPPF_2023_09", READY),
            lambda: nppf.delete_revision(source, "rev_NPPF_2023_09"),
        ):
            with pytest.raises(PolicyMissing):
                ask()
        assert contents(nppf) == before


class TestRevisions:
    def test_a_revision_is_found_as_it_was_created(self, registry: PolicyRegistry) -> None:
        registry.create_policy(NPPF)
        draft = RevisionDraft(
            version_label="July 2018 — ‘final’",
            effective_from=date(2018, 7, 24),
            effective_to=date(2019, 2, 18),
            file_path=Path("/tmp/nppf 2018.pdf"),
            file_size_bytes=2**40,
            notes="two\nlines",
        )
        made = registry.create_revision("NPPF", draft).revision
        assert registry.get_revision("NPPF", "rev_NPPF_2018_07") == made
        assert (made.source, made.status, made.chunk_count) == ("NPPF", "processing", 0)
        for name in ("version_label", "effective_from", "effective_to", "file_path", "notes"):
            assert getattr(made, name) == getattr(draft, name)
        assert made.file_size_bytes == 2**40
        assert (made.page_count, made.ingested_at, made.error) == (None, None, None)

    def test_the_example_of_the_spec(self, nppf: PolicyRegistry) -> None:
        listed = [
            (r.revision_id, r.version_label, r.effective_from, r.effective_to, r.status)
            for r in nppf.list_revisions("NPPF")
        ]
        assert listed == [
            ("rev_NPPF_2024_12", "December 2024", date(2024, 12, 12), None, "active"),
            (
                "rev_NPPF_2023_09",
                "September 2023",
                date(2023, 9, 5),
                date(2024, 12, 11),
                "superseded",
            ),
        ]

    def test_a_plan_lists_the_superseded_revisions(self, nppf: PolicyRegistry) -> None:
        plan = nppf.create_revision("NPPF", RevisionDraft("2025", date(2025, 12, 16)))
        [given_way] = plan.others
        assert given_way == nppf.get_revision("NPPF", "rev_NPPF_2024_12")
        assert given_way.effective_to == date(2025, 12, 15)

    def test_two_revisions_of_a_month_have_distinct_ids(self, nppf: PolicyRegistry) -> None:
        plan = nppf.create_revision("NPPF", RevisionDraft("Correction", date(2024, 12, 20)))
        assert plan.revision.revision_id == "rev_NPPF_2024_12_2"
        assert len(nppf.list_revisions("NPPF")) == 3

    def test_history_is_inserted_without_moving_anything(self, nppf: PolicyRegistry) -> None:
        before = nppf.list_revisions("NPPF")
        draft = RevisionDraft("March 2012", date(2012, 3, 27), date(2018, 7, 23))
        made = nppf.create_revision("NPPF", draft).revision
        assert nppf.list_revisions("NPPF") == [*before, made]
        assert nppf.update_revision("NPPF", made.revision_id, READY).status == "superseded"

    def test_an_edit_changes_only_the_named_fields(self, nppf: PolicyRegistry) -> None:
        edit = RevisionEdit("Sept 2023", date(2023, 9, 6), date(2024, 12, 1), "n")
        made = nppf.edit_revision("NPPF", "rev_NPPF_2023_09", edit).revision
        assert nppf.get_revision("NPPF", "rev_NPPF_2023_09") == made
        assert (made.version_label, made.notes, made.chunk_count) == ("Sept 2023", "n", 73)
        resolver = EffectiveDateResolver(nppf)
        assert resolver.resolve_for_policy("NPPF", date(2023, 9, 5)).revision is None
        assert resolver.resolve_for_policy("NPPF", date(2023, 9, 6)).revision == made
        assert resolver.resolve_for_policy("NPPF", date(2024, 12, 2)).revision is None

    def test_an_update_is_kept(self, nppf: PolicyRegistry) -> None:
        at = datetime(2026, 2, 14, 10, 30, tzinfo=UTC)
        update = RevisionUpdate(
            status=RevisionStatus.FAILED,
            file_path=Path("a.pdf"),
            file_size_bytes=1,
            page_count=2,
            chunk_count=0,
            ingested_at=at,
            error="encrypted",
        )
        made = nppf.update_revision("NPPF", "rev_NPPF_2024_12", update)
        assert nppf.get_revision("NPPF", "rev_NPPF_2024_12") == made
        assert (made.status, made.file_path, made.error) == ("failed", Path("a.pdf"), "encrypted")
        assert (made.file_size_bytes, made.page_count, made.chunk_count) == (1, 2, 0)
        assert made.ingested_at == at
        cleared = nppf.update_revision("NPPF", "rev_NPPF_2024_12", RevisionUpdate(file_path=None))
        assert cleared.file_path is None

    def test_a_deleted_revision_is_gone_and_its_days_are_free(self, nppf: PolicyRegistry) -> None:
        was = nppf.get_revision("NPPF", "rev_NPPF_2023_09")
        assert nppf.delete_revision("NPPF", "rev_NPPF_2023_09") == was
        with pytest.raises(RevisionMissing, match="rev_NPPF_2024_12"):
            nppf.get_revision("NPPF", "rev_NPPF_2023_09")
        again = RevisionDraft("Again", was.effective_from, was.effective_to)
        assert nppf.create_revision("NPPF", again).revision.revision_id == "rev_NPPF_2023_09"

    def test_a_change_of_revisions_moves_the_policys_updated_at(
        self, registry: PolicyRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        created = registry.create_policy(NPPF)
        later = datetime(2100, 1, 1, tzinfo=UTC)
        monkeypatch.setattr("quinion.store.policies.policy_registry._now", lambda: later)
        assert registry.create_revision("NPPF", SEPTEMBER).revision.created_at == later
        policy = registry.get_policy("NPPF")
        assert (policy.created_at, policy.updated_at) == (created.created_at, later)

    def test_policies_do_not_touch_each_other(self, nppf: PolicyRegistry) -> None:
        before = nppf.list_revisions("NPPF")
        nppf.create_policy(PolicyDraft("NPPF_2", "Another", PolicyCategory.LOCAL_PLAN))
        nppf.create_revision("NPPF_2", RevisionDraft("L", date(2024, 12, 12)))
        assert nppf.list_revisions("NPPF") == before
        assert list(nppf.list_all_revisions()) == ["NPPF", "NPPF_2"]


class TestRefusals:
    @pytest.mark.parametrize(
        ("draft", "error"),
        [
            (RevisionDraft("Same day", date(2024, 12, 12)), RevisionOverlap),
            (RevisionDraft("Within", date(2024, 1, 1), date(2024, 1, 2)), RevisionOverlap),
            (RevisionDraft("Open, before", date(2012, 3, 27)), RevisionOverlap),
            (RevisionDraft("Backwards", date(2025, 1, 2), date(2025, 1, 1)), InvalidInput),
            (
                RevisionDraft("Taken", date(2025, 1, 1), revision_id="rev_NPPF_2024_12"),
                RevisionExists,
            ),
        ],
    )
    def test_a_refused_revision_leaves_no_trace(
        self, nppf: PolicyRegistry, draft: RevisionDraft, error: type[QuinionError]
    ) -> None:
        before = contents(nppf)
        with pytest.raises(error):
            nppf.create_revision("NPPF", draft)
        assert contents(nppf) == before

    def test_a_refused_edit_leaves_no_trace(self, nppf: PolicyRegistry) -> None:
        before = contents(nppf)
        for edit, error in (
            (RevisionEdit(effective_to=None), RevisionOverlap),
            (RevisionEdit(effective_to=date(2024, 12, 12)), RevisionOverlap),
            (RevisionEdit(effective_to=date(2023, 9, 4)), InvalidInput),
        ):
            with pytest.raises(error):
                nppf.edit_revision("NPPF", "rev_NPPF_2023_09", edit)
        assert contents(nppf) == before

    def test_the_sole_active_revision_is_not_deleted(self, nppf: PolicyRegistry) -> None:
        before = contents(nppf)
        with pytest.raises(SoleRevision):
            nppf.delete_revision("NPPF", "rev_NPPF_2024_12")
        assert contents(nppf) == before

    @pytest.mark.parametrize("revision_id", ["rev_NPPF_2000_01", "", NOT_UNICODE])
    def test_an_unknown_revision_is_missing_everywhere(
        self, nppf: PolicyRegistry, revision_id: str
    ) -> None:
        before = contents(nppf)
        for ask in (
            lambda: nppf.get_revision("NPPF", revision_id),
            lambda: nppf.edit_revision("NPPF", revision_id, RevisionEdit(notes="n")),
            lambda: nppf.update_revision("NPPF", revision_id, READY),
            lambda: nppf.delete_revision("NPPF", revision_id),
        ):
            with pytest.raises(RevisionMissing):
                ask()
        assert contents(nppf) == before


class TestDates:
    @pytest.mark.parametrize(
        ("on", "expected"),
        [
            (date(2023, 9, 4), Reason.DATE_BEFORE_FIRST_REVISION),
            (date(2023, 9, 5), "rev_NPPF_2023_09"),
            (date(2024, 12, 11), "rev_NPPF_2023_09"),
            (date(2024, 12, 12), "rev_NPPF_2024_12"),
            (date(9999, 12, 31), "rev_NPPF_2024_12"),
            (date(1, 1, 1), Reason.DATE_BEFORE_FIRST_REVISION),
        ],
    )
    def test_the_resolver_finds_the_revision_in_force(
        self, nppf: PolicyRegistry, on: date, expected: str
    ) -> None:
        found = EffectiveDateResolver(nppf).resolve_for_policy("NPPF", on)
        assert (found.revision.revision_id if found.revision else found.reason) == expected

    def test_a_revision_that_waits_for_its_text_is_no_answer(self, nppf: PolicyRegistry) -> None:
        plan = nppf.create_revision("NPPF", RevisionDraft("2025", date(2025, 12, 16)))
        on = date(2026, 1, 1)
        assert EffectiveDateResolver(nppf).resolve_for_policy("NPPF", on).revision is None
        found = EffectiveDateResolver(nppf).resolve_for_policy("NPPF", on)
        assert (found.reason, found.unready) == (Reason.DATE_IN_GAP, plan.revision)
        ready = nppf.update_revision("NPPF", plan.revision.revision_id, READY)
        assert EffectiveDateResolver(nppf).resolve_for_policy("NPPF", on).revision == ready

    def test_a_snapshot_covers_every_policy(self, nppf: PolicyRegistry) -> None:
        nppf.create_policy(PolicyDraft("EMPTY", "Empty", PolicyCategory.LOCAL_PLAN))
        resolver = EffectiveDateResolver(nppf)
        snapshot = resolver.resolve_snapshot(date(2024, 3, 15))
        assert snapshot["EMPTY"].reason is Reason.NO_REVISIONS
        ids = resolver.get_revision_ids_for_date(date(2024, 3, 15))
        assert ids == {"NPPF": "rev_NPPF_2023_09"}

    @pytest.mark.parametrize("start", [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)])
    def test_the_calendars_ends_are_days_like_others(
        self, registry: PolicyRegistry, start: date
    ) -> None:
        registry.create_policy(NPPF)
        made = registry.create_revision("NPPF", RevisionDraft("L", start)).revision
        ready = registry.update_revision("NPPF", made.revision_id, READY)
        assert EffectiveDateResolver(registry).resolve_for_policy("NPPF", start).revision == ready


def test_stored_entries_are_visible_to_the_next_process(
    tmp_path: Path, address: str, nppf: PolicyRegistry
) -> None:
    nppf.ping()
    again = open_at(tmp_path / "registry.db", address)
    assert contents(again) == contents(nppf)
    again.close()


JUNE = RevisionDraft("June 2025", date(2025, 6, 1), as_draft=True)


class TestDrafts:
    def test_a_draft_changes_no_other_revision_and_is_never_in_force(
        self, nppf: PolicyRegistry
    ) -> None:
        before = nppf.list_revisions("NPPF")
        plan = nppf.create_revision("NPPF", JUNE)
        assert plan.others == ()
        draft = nppf.update_revision("NPPF", plan.revision.revision_id, READY)
        assert (draft.draft, draft.status, draft.chunk_count) == (True, "processing", 73)
        assert nppf.list_revisions("NPPF") == [draft, *before]
        found = EffectiveDateResolver(nppf).resolve_for_policy("NPPF", date(2026, 1, 1))
        assert found.revision == before[0]
        assert found.unready is None

    def test_a_draft_may_have_the_days_of_another_revision(self, nppf: PolicyRegistry) -> None:
        same = RevisionDraft("Again", date(2024, 12, 12), as_draft=True)
        draft = nppf.create_revision("NPPF", same).revision
        edit = RevisionEdit(effective_from=date(2023, 9, 5))
        assert nppf.edit_revision("NPPF", draft.revision_id, edit).others == ()
        later = RevisionDraft("Later", date(2025, 1, 1))
        [ended] = nppf.create_revision("NPPF", later).others
        assert ended.revision_id == "rev_NPPF_2024_12"

    def test_a_published_draft_ends_the_revision_before_it(self, nppf: PolicyRegistry) -> None:
        draft = nppf.create_revision("NPPF", JUNE).revision.revision_id
        nppf.update_revision("NPPF", draft, READY)
        plan = nppf.publish_revision("NPPF", draft)
        assert (plan.revision.draft, plan.revision.status) == (False, "active")
        [ended] = plan.others
        assert (ended.effective_to, ended.status) == (date(2025, 5, 31), "superseded")
        assert nppf.list_revisions("NPPF")[:2] == [plan.revision, ended]
        found = EffectiveDateResolver(nppf).resolve_for_policy("NPPF", date(2025, 6, 1))
        assert found.revision == plan.revision

    def test_a_draft_may_be_published_from_another_day(self, nppf: PolicyRegistry) -> None:
        draft = nppf.create_revision("NPPF", JUNE).revision.revision_id
        plan = nppf.publish_revision("NPPF", draft, date(2025, 7, 1))
        assert plan.revision.effective_from == date(2025, 7, 1)
        assert plan.revision.status == "processing"  # it has no text yet

    def test_a_draft_of_taken_days_is_not_published(self, nppf: PolicyRegistry) -> None:
        same = RevisionDraft("Again", date(2024, 12, 12), as_draft=True)
        draft = nppf.create_revision("NPPF", same).revision.revision_id
        before = nppf.list_revisions("NPPF")
        with pytest.raises(RevisionOverlap):
            nppf.publish_revision("NPPF", draft)
        assert nppf.list_revisions("NPPF") == before

    def test_only_a_draft_is_published(self, nppf: PolicyRegistry) -> None:
        with pytest.raises(InvalidInput, match="no draft"):
            nppf.publish_revision("NPPF", "rev_NPPF_2024_12")


class TestUndo:
    def test_the_revision_before_is_open_and_active_again(self, nppf: PolicyRegistry) -> None:
        plan = nppf.undo_revision("NPPF", "rev_NPPF_2024_12")
        [reopened] = nppf.list_revisions("NPPF")
        assert plan.others == (reopened,)
        assert (reopened.effective_to, reopened.status) == (None, "active")

    def test_a_revision_between_two_others_gives_its_days_back(self, nppf: PolicyRegistry) -> None:
        nppf.create_revision("NPPF", RevisionDraft("Later", date(2026, 2, 1)))
        nppf.undo_revision("NPPF", "rev_NPPF_2024_12")
        later, first = nppf.list_revisions("NPPF")
        assert (first.effective_to, first.status) == (date(2026, 1, 31), "superseded")
        nppf.undo_revision("NPPF", later.revision_id)
        [only] = nppf.list_revisions("NPPF")
        assert (only.effective_to, only.status) == (None, "active")

    def test_a_published_draft_can_be_undone(self, nppf: PolicyRegistry) -> None:
        before = nppf.list_revisions("NPPF")
        draft = nppf.create_revision("NPPF", JUNE).revision.revision_id
        nppf.publish_revision("NPPF", draft)
        nppf.undo_revision("NPPF", draft)
        assert nppf.list_revisions("NPPF") == before

    def test_an_end_that_a_user_set_is_kept(self, registry: PolicyRegistry) -> None:
        registry.create_policy(NPPF)
        ended = RevisionDraft("September 2023", date(2023, 9, 5), date(2024, 12, 11))
        for draft in (ended, DECEMBER):
            made = registry.create_revision("NPPF", draft).revision
            registry.update_revision("NPPF", made.revision_id, READY)
        with pytest.raises(SoleRevision):  # as with `delete`: nothing is reopened
            registry.undo_revision("NPPF", "rev_NPPF_2024_12")
        assert len(registry.list_revisions("NPPF")) == 2


class TestDeletePolicy:
    def test_a_policy_goes_with_its_revisions_and_no_other(self, nppf: PolicyRegistry) -> None:
        other = PolicyDraft("LTN_1_20", "Cycles", PolicyCategory.NATIONAL_GUIDANCE)
        nppf.create_policy(other)
        nppf.create_revision("LTN_1_20", RevisionDraft("July 2020", date(2020, 7, 27)))
        nppf.delete_policy("NPPF")
        assert [policy.source for policy in nppf.list_policies()] == ["LTN_1_20"]
        assert set(nppf.list_all_revisions()) == {"LTN_1_20"}
        nppf.create_policy(NPPF)
        assert nppf.list_revisions("NPPF") == []

    def test_an_unknown_policy_is_not_deleted(self, registry: PolicyRegistry) -> None:
        for source in ("NPPF", NOT_UNICODE):
            with pytest.raises(PolicyMissing):
                registry.delete_policy(source)
