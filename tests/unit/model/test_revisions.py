from datetime import UTC, date, datetime

import pytest

from quinion.errors import (
    InvalidInput,
    PolicyMissing,
    RevisionExists,
    RevisionMissing,
    RevisionOverlap,
    SoleRevision,
)
from quinion.model.effective_dates import EffectiveDateResolver
from quinion.model.policy import (
    Revision,
    RevisionDraft,
    RevisionEdit,
    RevisionStatus,
    RevisionUpdate,
)
from quinion.model.revisions import (
    Plan,
    Reason,
    choose_revision_id,
    latest_effective,
    newest_first,
    plan_creation,
    plan_deletion,
    plan_edit,
    plan_update,
    resolve,
    status_on,
)

NOW = datetime(2026, 2, 14, 12, tzinfo=UTC)
PROCESSING, ACTIVE, SUPERSEDED, FAILED = RevisionStatus


def day(text: str) -> date:
    return date.fromisoformat(text)


def end(text: str) -> date | None:
    return day(text) if text else None


def revision(
    revision_id: str, start: str, last: str = "", status: RevisionStatus = ACTIVE
) -> Revision:
    draft = RevisionDraft(revision_id, day(start), end(last))
    made = draft.register("NPPF", revision_id, NOW)
    return plan_update("NPPF", [made], revision_id, RevisionUpdate(status=status)).revision


def create(known: list[Revision], start: str, last: str = "", id_: str | None = None) -> Plan:
    return plan_creation("NPPF", known, RevisionDraft("L", day(start), end(last), id_), NOW)


def facts(*revisions: Revision) -> list[tuple[str, str, RevisionStatus]]:
    return [(made.revision_id, made.period, made.status) for made in revisions]


OLD = revision("old", "2019-02-19", "2023-09-04", SUPERSEDED)
NEW = revision("new", "2023-09-05")


class TestIds:
    def test_an_id_contains_source_and_month(self) -> None:
        assert choose_revision_id("LTN_1_20", day("2020-07-27"), ()) == "rev_LTN_1_20_2020_07"
        assert choose_revision_id("A", date(1, 2, 3), ()) == "rev_A_0001_02"

    def test_revisions_of_one_month_have_distinct_ids(self) -> None:
        taken = ["rev_A_2024_12", "rev_A_2024_12_2"]
        assert choose_revision_id("A", day("2024-12-12"), taken) == "rev_A_2024_12_3"

    def test_an_id_that_was_asked_for_is_used_or_refused(self) -> None:
        assert create([], "2024-12-12", id_="mine").revision.revision_id == "mine"
        with pytest.raises(RevisionExists, match="new"):
            create([NEW], "2024-12-12", id_="new")


class TestCreation:
    def test_the_first_revision_is_registered_and_waits_for_its_text(self) -> None:
        plan = create([], "2023-09-05")
        assert facts(plan.revision) == [("rev_NPPF_2023_09", "from 2023-09-05", PROCESSING)]
        assert plan.others == ()

    def test_an_open_end_is_closed_the_day_before(self) -> None:
        plan = create([OLD, NEW], "2024-12-12")
        assert facts(*plan.others) == [("new", "2023-09-05 to 2024-12-11", SUPERSEDED)]

    @pytest.mark.parametrize("status", [PROCESSING, FAILED])
    def test_what_is_not_ready_is_closed_too_and_keeps_its_status(
        self, status: RevisionStatus
    ) -> None:
        plan = create([revision("a", "2023-09-05", status=status)], "2024-12-12")
        assert facts(*plan.others) == [("a", "2023-09-05 to 2024-12-11", status)]

    def test_an_open_end_is_closed_by_a_revision_that_ends_as_well(self) -> None:
        plan = create([NEW], "2024-12-12", "2025-06-30")
        assert facts(*plan.others) == [("new", "2023-09-05 to 2024-12-11", SUPERSEDED)]

    def test_a_successor_after_a_gap_supersedes_without_touching_dates(self) -> None:
        plan = create([revision("a", "2020-01-01", "2020-12-31")], "2022-01-01")
        assert facts(*plan.others) == [("a", "2020-01-01 to 2020-12-31", SUPERSEDED)]

    def test_history_is_inserted_before_existing_revisions(self) -> None:
        plan = create([OLD, NEW], "2012-03-27", "2019-02-18")
        assert plan.revision.period == "2012-03-27 to 2019-02-18"
        assert plan.others == ()

    @pytest.mark.parametrize(
        ("start", "last"),
        [
            ("2023-09-05", ""),  # the same first day
            ("2023-09-05", "2023-09-05"),
            ("2023-09-04", "2023-09-04"),  # the last day of another
            ("2019-02-19", "2019-02-19"),  # the first day of another
            ("2018-01-01", "2019-02-19"),
            ("2018-01-01", "2030-01-01"),  # around others
            ("2020-01-01", "2020-12-31"),  # within another
            ("2018-01-01", ""),  # without an end, before others
        ],
    )
    def test_a_shared_day_is_refused(self, start: str, last: str) -> None:
        with pytest.raises(RevisionOverlap):
            create([OLD, NEW], start, last)

    @pytest.mark.parametrize("status", RevisionStatus)
    def test_days_are_held_for_any_status(self, status: RevisionStatus) -> None:
        with pytest.raises(RevisionOverlap, match=status):
            create([revision("a", "2020-01-01", "2020-12-31", status)], "2020-12-31")

    def test_the_error_for_a_period_within_another_advises_to_change_the_dates(self) -> None:
        with pytest.raises(RevisionOverlap, match="Change the dates, or edit or delete"):
            create([OLD, NEW], "2018-01-01", "2020-12-31")

    def test_the_error_states_where_an_inserted_revision_must_end(self) -> None:
        with pytest.raises(RevisionOverlap, match="end it on 2019-02-18 or earlier"):
            create([OLD], "2012-03-27")

    def test_an_end_before_the_beginning_is_refused(self) -> None:
        with pytest.raises(InvalidInput):
            create([NEW], "2024-12-12", "2024-12-11")


class TestEdit:
    def edit(self, known: list[Revision], id_: str, edit: RevisionEdit) -> Plan:
        return plan_edit("NPPF", known, id_, edit)

    def test_only_given_fields_change(self) -> None:
        plan = self.edit([OLD, NEW], "new", RevisionEdit(version_label="September 2023"))
        assert plan.revision.version_label == "September 2023"
        assert facts(plan.revision) == facts(NEW)
        assert plan.others == ()

    def test_dates_move_and_the_id_stays(self) -> None:
        plan = self.edit([OLD, NEW], "new", RevisionEdit(effective_from=day("2023-10-01")))
        assert facts(plan.revision, *plan.others) == [("new", "from 2023-10-01", ACTIVE)]

    @pytest.mark.parametrize(
        "edit",
        [
            RevisionEdit(effective_from=day("2023-09-04")),
            RevisionEdit(effective_from=day("2019-02-19")),
            RevisionEdit(effective_from=day("2010-01-01"), effective_to=day("2019-02-19")),
        ],
    )
    def test_an_edit_does_not_change_other_revisions(self, edit: RevisionEdit) -> None:
        with pytest.raises(RevisionOverlap, match="old"):
            self.edit([OLD, NEW], "new", edit)

    def test_an_end_before_the_beginning_is_refused(self) -> None:
        with pytest.raises(InvalidInput):
            self.edit([OLD], "old", RevisionEdit(effective_from=day("2023-09-05")))

    def test_reopening_is_explicit_and_makes_it_active(self) -> None:
        plan = self.edit([OLD], "old", RevisionEdit(effective_to=None))
        assert facts(plan.revision) == [("old", "from 2019-02-19", ACTIVE)]

    def test_reopening_before_another_is_refused(self) -> None:
        with pytest.raises(RevisionOverlap, match="end it on 2023-09-04"):
            self.edit([OLD, NEW], "old", RevisionEdit(effective_to=None))

    def test_another_end_reopens_nothing(self) -> None:
        plan = self.edit([OLD], "old", RevisionEdit(effective_to=day("2024-01-01")))
        assert plan.revision.status is SUPERSEDED

    def test_moving_behind_another_supersedes_it(self) -> None:
        bounded = revision("bounded", "2023-09-05", "2023-12-31")
        moved = RevisionEdit(effective_from=day("2024-01-01"), effective_to=None)
        plan = self.edit([OLD, bounded], "old", moved)
        assert facts(plan.revision, *plan.others) == [
            ("old", "from 2024-01-01", ACTIVE),
            ("bounded", "2023-09-05 to 2023-12-31", SUPERSEDED),
        ]

    def test_moving_before_another_makes_it_superseded(self) -> None:
        moved = RevisionEdit(effective_from=day("2012-01-01"), effective_to=day("2012-12-31"))
        plan = self.edit([OLD, NEW], "new", moved)
        assert facts(plan.revision, *plan.others) == [
            ("new", "2012-01-01 to 2012-12-31", SUPERSEDED)
        ]

    def test_an_overlap_that_is_there_already_does_not_forbid_a_new_label(self) -> None:
        twice = [revision("a", "2020-01-01"), revision("b", "2021-01-01")]
        plan = self.edit(twice, "a", RevisionEdit(version_label="A"))
        assert (plan.revision.version_label, plan.others) == ("A", ())

    def test_an_unknown_revision_cannot_be_edited(self) -> None:
        with pytest.raises(RevisionMissing, match="new, old"):
            self.edit([OLD, NEW], "other", RevisionEdit(notes="n"))

    def test_the_error_for_an_unknown_revision_names_the_newest_and_counts_the_rest(self) -> None:
        years = range(1990, 2013)
        many = [revision(f"r{one}", f"{one}-01-01", f"{one}-12-31") for one in years]
        with pytest.raises(RevisionMissing, match=r"r2012, .*, r1993 and 3 older ones\.$"):
            self.edit(many, "other", RevisionEdit(notes="n"))


class TestUpdate:
    def update(self, known: list[Revision], id_: str, update: RevisionUpdate) -> Revision:
        return plan_update("NPPF", known, id_, update).revision

    def test_an_ingested_revision_is_active(self) -> None:
        waiting = revision("a", "2020-01-01", status=PROCESSING)
        done = RevisionUpdate(status=ACTIVE, chunk_count=73, page_count=80, ingested_at=NOW)
        made = self.update([waiting], "a", done)
        assert (made.status, made.chunk_count, made.page_count) == (ACTIVE, 73, 80)
        assert made.ingested_at == NOW

    def test_an_ingested_revision_that_another_has_followed_is_superseded(self) -> None:
        waiting = revision("a", "2012-03-27", "2019-02-18", PROCESSING)
        made = self.update([waiting, OLD, NEW], "a", RevisionUpdate(status=ACTIVE))
        assert made.status is SUPERSEDED

    def test_ingesting_again_does_not_undo_a_supersession(self) -> None:
        assert self.update([OLD], "old", RevisionUpdate(status=ACTIVE)).status is SUPERSEDED

    def test_an_error_lasts_as_long_as_the_failure(self) -> None:
        failed = self.update([NEW], "new", RevisionUpdate(status=FAILED, error="encrypted"))
        assert (failed.status, failed.error) == (FAILED, "encrypted")
        assert self.update([failed], "new", RevisionUpdate(page_count=1)).error == "encrypted"
        assert self.update([failed], "new", RevisionUpdate(status=PROCESSING)).error is None


class TestDeletion:
    def delete(self, known: list[Revision], id_: str) -> Plan:
        return plan_deletion("NPPF", known, id_)

    def test_the_only_active_revision_stays(self) -> None:
        for known in ([NEW], [OLD, NEW], [NEW, revision("next", "2030-01-01", status=PROCESSING)]):
            with pytest.raises(SoleRevision, match="successor"):
                self.delete(known, "new")

    @pytest.mark.parametrize("status", [PROCESSING, SUPERSEDED, FAILED])
    def test_any_other_goes_and_nothing_is_reopened(self, status: RevisionStatus) -> None:
        plan = self.delete([revision("a", "2024-12-12", status=status), OLD], "a")
        assert (plan.revision.revision_id, plan.deletes, plan.written) == ("a", True, ())

    def test_of_two_active_ones_that_another_program_wrote_one_may_go(self) -> None:
        assert self.delete([NEW, revision("b", "2019-01-01", "2019-12-31")], "b").deletes

    def test_an_unknown_revision_cannot_be_deleted(self) -> None:
        with pytest.raises(RevisionMissing, match="none"):
            self.delete([], "a")


class Registry:
    """Registry of two policies; `EMPTY` has no revisions."""

    def list_revisions(self, source: str) -> list[Revision]:
        if source not in self.list_all_revisions():
            raise PolicyMissing(source)
        return self.list_all_revisions()[source]

    def list_all_revisions(self) -> dict[str, list[Revision]]:
        return {"EMPTY": [], "NPPF": [NEW, OLD]}


class TestResolution:
    @pytest.mark.parametrize(
        ("on", "expected"),
        [
            ("2019-02-18", Reason.DATE_BEFORE_FIRST_REVISION),
            ("2019-02-19", "old"),
            ("2021-06-01", "old"),
            ("2023-09-04", "old"),
            ("2023-09-05", "new"),
            ("9999-12-31", "new"),
        ],
    )
    def test_boundaries_belong_to_the_revision(self, on: str, expected: str) -> None:
        found = resolve("NPPF", [OLD, NEW], day(on))
        assert (found.revision.revision_id if found.revision else found.reason) == expected

    def test_days_between_and_after_bounded_revisions_are_gaps(self) -> None:
        known = [
            revision("a", "2020-01-01", "2020-12-31", SUPERSEDED),
            revision("b", "2022-01-01", "2022-12-31"),
        ]
        for on in ("2021-01-01", "2021-12-31", "2023-01-01", "9999-12-31"):
            assert resolve("NPPF", known, day(on)).reason is Reason.DATE_IN_GAP

    @pytest.mark.parametrize("status", [PROCESSING, FAILED])
    def test_a_revision_without_text_is_awaited_but_never_the_answer(
        self, status: RevisionStatus
    ) -> None:
        waiting = revision("next", "2024-12-12", status=status)
        alone = resolve("NPPF", [waiting], day("2025-01-01"))
        assert (alone.revision, alone.reason, alone.unready) == (None, "no_revisions", waiting)
        after = resolve("NPPF", [OLD, waiting], day("2025-01-01"))
        assert (after.revision, after.reason, after.unready) == (None, "date_in_gap", waiting)

    def test_of_two_that_another_program_let_overlap_the_later_holds(self) -> None:
        twice = [revision("b", "2021-01-01"), revision("a", "2020-01-01")]
        found = resolve("NPPF", twice, day("2022-01-01"))
        assert found.revision is not None
        assert found.revision.revision_id == "b"

    def test_the_latest_effective_one_is_in_force_or_was_last(self) -> None:
        bounded = revision("b", "2020-01-01", "2020-12-31")
        waiting = revision("c", "2021-01-01", status=PROCESSING)
        assert latest_effective([OLD, NEW], day("2020-01-01")) is OLD
        assert latest_effective([bounded, waiting], day("2025-01-01")) is bounded
        assert latest_effective([bounded, waiting], day("2019-12-31")) is None

    def test_newest_first_is_the_order_of_a_sorted_set_read_backwards(self) -> None:
        known = [revision("a", "2021-01-01"), OLD, revision("b", "2021-01-01"), NEW]
        assert [made.revision_id for made in newest_first(known)] == ["new", "b", "a", "old"]

    def test_a_snapshot_has_every_policy_and_the_mapping_those_with_an_answer(self) -> None:
        resolver = EffectiveDateResolver(Registry())
        snapshot = resolver.resolve_snapshot(day("2024-03-15"))
        assert snapshot["EMPTY"].reason is Reason.NO_REVISIONS
        assert snapshot["NPPF"].revision is NEW
        assert resolver.get_revision_ids_for_date(day("2024-03-15")) == {"NPPF": "new"}
        assert resolver.get_revision_ids_for_date(day("2010-01-01")) == {}

    def test_one_policy_is_resolved_or_missing(self) -> None:
        resolver = EffectiveDateResolver(Registry())
        assert resolver.resolve_for_policy("NPPF", day("2020-01-01")).revision is OLD
        with pytest.raises(PolicyMissing):
            resolver.resolve_for_policy("OTHER", day("2020-01-01"))


@pytest.mark.parametrize(
    ("today", "expected"),
    [
        ("2023-12-31", [ACTIVE, ACTIVE, ACTIVE]),
        ("2024-06-01", [ACTIVE, ACTIVE, ACTIVE]),
        ("2025-01-01", [SUPERSEDED, ACTIVE, ACTIVE]),
        ("2027-01-01", [SUPERSEDED, SUPERSEDED, ACTIVE]),
    ],
)
def test_a_status_relative_to_today_is_superseded_when_the_days_are_over(
    today: str, expected: list[RevisionStatus]
) -> None:
    known = [
        revision("a", "2024-01-01", "2024-12-31", SUPERSEDED),
        revision("b", "2025-01-01", "2026-12-31", SUPERSEDED),
        revision("c", "2027-01-01"),
    ]
    assert [status_on(one, known, day(today)) for one in known] == expected


def test_dates_that_another_program_wrote_supersede_a_revision() -> None:
    known = [revision("a", "2024-01-01", "2024-12-31"), revision("b", "2025-01-01")]
    assert known[0].status is ACTIVE
    assert status_on(known[0], known, day("2025-06-01")) is SUPERSEDED
    assert status_on(known[0], known[:1], day("2025-06-01")) is ACTIVE  # nothing came after it


@pytest.mark.parametrize("status", [PROCESSING, FAILED])
def test_a_revision_without_text_keeps_its_status(status: RevisionStatus) -> None:
    known = [revision("a", "2024-01-01", status=status)]
    assert status_on(known[0], known, day("2025-06-01")) is status
