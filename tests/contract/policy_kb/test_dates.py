"""Which text is found on which day, and that it stays right whatever happens to the registry."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from quinion.model.effective_dates import EffectiveDateResolver
from quinion.model.policy import RevisionEdit, RevisionStatus, RevisionUpdate
from quinion.model.revisions import Reason
from quinion.store.policies import PolicyRegistry
from tests.contract.policy_kb.asking import (
    find,
    found_on,
    ingest_well,
    list_revisions,
    refusal,
    register,
    revise,
    today,
)
from tests.contract.policy_kb.policies import leaflet
from tests.contract.session import Session

DAY = timedelta(days=1)
A_FROM, B_FROM = date(2023, 9, 5), date(2024, 12, 12)
# Label, first and last day: two that follow each other, a gap, one of a single day, an open one.
LIVES = [
    ("A", date(2010, 1, 1), date(2012, 2, 29)),
    ("B", date(2012, 3, 1), date(2015, 12, 31)),
    ("C", date(2020, 2, 29), date(2020, 2, 29)),
    ("D", date(2023, 6, 15), None),
]


@pytest.fixture(scope="module")
def lives(
    session: Session, registry: PolicyRegistry, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[str, str]]:
    """A policy with the revisions above, all ingested, and the label of each by its id."""
    source = register(registry)
    folder = tmp_path_factory.mktemp("lives")
    labels = {}
    # Not in the order of time: the last two are inserted into its past.
    for label, start, end in (LIVES[3], LIVES[1], LIVES[0], LIVES[2]):
        revision_id = revise(registry, source, label, start, end)
        ingest_well(session, source, revision_id, leaflet(folder / f"{label}.pdf", label, 1))
        labels[revision_id] = label
    return source, labels


def days_to_try() -> list[date]:
    """The first and last day of each revision, the days around them, and some in between."""
    edges = [day for _, start, end in LIVES for day in (start, end) if day]
    around = [edge + step * DAY for edge in edges for step in (-1, 0, 1)]
    far = [date(1, 1, 1), date(1999, 12, 31), date(2018, 6, 1), date(9999, 12, 31), today()]
    return sorted({*around, *far})


@pytest.mark.parametrize("day", days_to_try(), ids=str)
def test_the_filter_the_resolver_and_a_brute_force_agree(
    session: Session, registry: PolicyRegistry, lives: tuple[str, dict[str, str]], day: date
) -> None:
    source, labels = lives
    expected = {label for label, start, end in LIVES if start <= day <= (end or date.max)}
    assert {labels[revision] for revision in found_on(session, source, day)} == expected
    resolver = EffectiveDateResolver(registry)
    resolution = resolver.resolve_for_policy(source, day)
    assert resolver.resolve_snapshot(day)[source] == resolution
    ids = resolver.get_revision_ids_for_date(day)
    if expected:
        assert resolution.revision is not None
        assert {labels[resolution.revision.revision_id]} == expected
        assert ids[source] == resolution.revision.revision_id
    else:
        before = day < LIVES[0][1]
        reason = Reason.DATE_BEFORE_FIRST_REVISION if before else Reason.DATE_IN_GAP
        assert (resolution.revision, resolution.reason) == (None, reason)
        assert source not in ids


def test_the_first_and_the_last_day_are_both_included(
    session: Session, lives: tuple[str, dict[str, str]]
) -> None:
    source, labels = lives
    for label, start, end in LIVES:
        for day in (start, end or date.max):
            assert [labels[r] for r in found_on(session, source, day)] == [label]


def test_a_day_before_any_revision_finds_nothing(library: Session) -> None:
    answer = library.call("search_policy", query="cycle lanes", effective_date="1947-08-06")
    assert answer["status"] == "success"
    assert (answer["results_count"], answer["results"]) == (0, [])
    assert answer["effective_date"] == "1947-08-06"


def test_a_day_in_a_gap_finds_nothing(session: Session, lives: tuple[str, dict[str, str]]) -> None:
    assert found_on(session, lives[0], "2018-06-01") == set()


def test_a_dated_search_of_all_policies_finds_only_what_was_in_force(
    library: Session, registry: PolicyRegistry
) -> None:
    for day in (date(2016, 1, 1), date(2021, 1, 1), date(2024, 3, 15), date(2024, 12, 12)):
        found = find(library, "planning", effective_date=str(day), n_results=1000)
        ids = EffectiveDateResolver(registry).get_revision_ids_for_date(day)
        assert {(r["source"], r["revision_id"]) for r in found} <= set(ids.items())
        nppf = {r["revision_id"] for r in found if r["source"] == "NPPF"}
        assert nppf == {ids["NPPF"]} if "NPPF" in ids else nppf == set()


def test_the_spec_s_example_day_has_the_framework_of_september_2023(library: Session) -> None:
    assert found_on(library, "NPPF", "2024-03-15") == {"rev_NPPF_2023_09"}
    assert found_on(library, "NPPF", "2024-12-11") == {"rev_NPPF_2023_09"}
    assert found_on(library, "NPPF", "2024-12-12") == {"rev_NPPF_2024_12"}


def test_a_filter_does_not_cost_results(library: Session) -> None:
    # The best matches are all of another policy, and of another revision.
    query = "cycle lanes and footpaths, in the December 2024 edition"
    found = find(library, query, sources=["NPPF"], effective_date="2024-03-15", n_results=10)
    assert len(found) == 10
    found = find(library, query, sources=["CHERWELL_LOCAL_PLAN"], effective_date="2024-03-15")
    assert len(found) == 10


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30",
        "2023-02-29",
        "20240315",
        "15/03/2024",
        "03/15/2024",
        "2024-3-15",
        "2024/03/15",
        "2024-03-15T00:00:00",
        "2024-03-15 ",
        "2024-13-01",
        "2024-00-10",
        "2024-01-00",
        "0000-01-01",
        "24-03-15",
        "-2024-03-15",
        "2024-W11-5",
        "٢٠٢٤-٠٣-١٥",
        "today",
        "",
        " ",
    ],
)
def test_what_is_not_a_day_is_an_invalid_date(session: Session, text: str) -> None:
    answer = session.call("search_policy", query="hedges", effective_date=text)
    message = refusal(answer, "invalid_date")
    assert text.strip() in message or repr(text) in message


def test_a_date_that_is_too_long_is_an_invalid_date_too(session: Session) -> None:
    answer = session.call("search_policy", query="hedges", effective_date="2024-03-15" * 500)
    assert len(refusal(answer, "invalid_date")) < 1000


@pytest.mark.parametrize("given", [20240315, 2024.03, True, ["2024-03-15"]])
def test_a_date_that_is_no_string_is_refused(session: Session, given: object) -> None:
    answer = session.call("search_policy", query="hedges", effective_date=given)
    assert "effective_date" in refusal(answer, "invalid_input")


def test_a_new_revision_takes_over_on_its_first_day_without_reindexing(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    a = revise(registry, source, "A", A_FROM)
    ingest_well(session, source, a, leaflet(tmp_path / "a.pdf", "A"))
    now = str(today())
    assert found_on(session, source, now) == {a}
    before = list_revisions(session, source)
    assert before[0]["effective_to"] is None

    b = revise(registry, source, "B", B_FROM)
    ingest_well(session, source, b, leaflet(tmp_path / "b.pdf", "B"))
    for day in (A_FROM, date(2024, 3, 15), B_FROM - DAY):
        assert found_on(session, source, day) == {a}
    for day in (B_FROM, B_FROM + DAY, today(), date(2099, 1, 1)):
        assert found_on(session, source, day) == {b}
    assert found_on(session, source, A_FROM - DAY) == set()
    assert found_on(session, source, None) == {a, b}
    newest, oldest = list_revisions(session, source)
    assert (newest["status"], newest["effective_to"]) == ("active", None)
    assert (oldest["status"], oldest["effective_to"]) == ("superseded", "2024-12-11")


def test_until_its_text_is_there_a_new_revision_has_no_answer_and_the_old_one_has_ended(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    a = revise(registry, source, "A", A_FROM)
    ingest_well(session, source, a, leaflet(tmp_path / "a.pdf", "A"))
    assert found_on(session, source, B_FROM) == {a}
    b = revise(registry, source, "B", B_FROM)
    assert found_on(session, source, B_FROM) == set()
    assert found_on(session, source, B_FROM - DAY) == {a}
    ingest_well(session, source, b, leaflet(tmp_path / "b.pdf", "B"))
    assert found_on(session, source, B_FROM) == {b}


def test_an_older_revision_can_be_inserted_before_an_open_one(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    b = revise(registry, source, "B", B_FROM)
    ingest_well(session, source, b, leaflet(tmp_path / "b.pdf", "B"))
    a = revise(registry, source, "A", A_FROM, B_FROM - 3 * DAY)
    assert ingest_well(session, source, a, leaflet(tmp_path / "a.pdf", "A"))
    assert found_on(session, source, B_FROM - 3 * DAY) == {a}
    assert found_on(session, source, B_FROM - DAY) == set()
    assert found_on(session, source, B_FROM) == {b}
    assert [r["status"] for r in list_revisions(session, source)] == ["active", "superseded"]


def test_a_change_of_dates_by_another_program_holds_for_the_next_search(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    a = revise(registry, source, "A", A_FROM)
    ingest_well(session, source, a, leaflet(tmp_path / "a.pdf", "A"))
    days = [date(2020, 1, 1), A_FROM, date(2024, 3, 15), B_FROM, date(2099, 1, 1)]
    for start, end in (
        (A_FROM, date(2024, 3, 15)),
        (date(2024, 3, 15), date(2024, 3, 15)),
        (date(2019, 5, 5), A_FROM),
        (B_FROM, None),
        (A_FROM, None),
    ):
        registry.edit_revision(source, a, RevisionEdit(effective_from=start, effective_to=end))
        for day in days:
            expected = {a} if start <= day <= (end or date.max) else set()
            assert found_on(session, source, day) == expected, (start, end, day)


def test_a_reopened_revision_holds_again(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    a = revise(registry, source, "A", A_FROM)
    ingest_well(session, source, a, leaflet(tmp_path / "a.pdf", "A"))
    b = revise(registry, source, "B", B_FROM)
    assert found_on(session, source, B_FROM) == set()
    registry.delete_revision(source, b)  # it is still processing, so it may go
    # Nothing is reopened by itself.
    assert found_on(session, source, B_FROM) == set()
    registry.edit_revision(source, a, RevisionEdit(effective_to=None))
    assert found_on(session, source, B_FROM) == {a}
    assert list_revisions(session, source)[0]["status"] == "active"


@pytest.mark.parametrize("status", [RevisionStatus.PROCESSING, RevisionStatus.FAILED])
def test_only_active_and_superseded_revisions_are_found_on_a_day(
    session: Session,
    registry: PolicyRegistry,
    source: str,
    tmp_path: Path,
    status: RevisionStatus,
) -> None:
    a = revise(registry, source, "A", A_FROM)
    ingest_well(session, source, a, leaflet(tmp_path / "a.pdf", "A"))
    # As the spec's API worker may do while it works on a revision.
    registry.update_revision(source, a, RevisionUpdate(status=status))
    assert found_on(session, source, B_FROM) == set()
    registry.update_revision(source, a, RevisionUpdate(status=RevisionStatus.ACTIVE))
    assert found_on(session, source, B_FROM) == {a}


def test_one_id_in_two_policies_is_two_revisions(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    other = register(registry)
    for one in (source, other):
        revise(registry, one, "A", A_FROM, revision_id="v1")
        ingest_well(session, one, "v1", leaflet(tmp_path / f"{one}.pdf", one))
    # In the second it is not in force, because its text is being replaced; in the first it is.
    registry.update_revision(other, "v1", RevisionUpdate(status=RevisionStatus.PROCESSING))
    found = find(session, "hedges", sources=[source, other], effective_date=str(B_FROM))
    assert {result["source"] for result in found} == {source}
