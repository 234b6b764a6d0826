"""`quinion policy …`, from the arguments to the exit status, in this process."""

import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import anyio
import pytest

from quinion.engine import open_engine
from quinion.model.policy import SEED_POLICIES, RevisionStatus, RevisionUpdate
from quinion.servers.policy_kb.records import CHUNKS
from quinion.settings import Settings
from quinion.store.policies import PolicyRegistry, open_registry
from tests.contract.policy_kb.policies import leaflet
from tests.documents import Blank, make_pdf, truncated_pdf
from tests.unit.cli.conftest import Ended, Run

FAILED, WRONG_USE, BAD_SETTING, HOME_IN_USE = 1, 2, 3, 4
CREATE = ("create", "NPPF", "--title", "The Framework", "--category", "national_policy")
OLD, NEW = "rev_NPPF_2023_09", "rev_NPPF_2024_12"
READY = RevisionUpdate(RevisionStatus.ACTIVE)
BAD_DATES = ["2024-02-30", "20240315", "15/03/2024", ""]


@pytest.fixture
def run(quinion: Run) -> Run:
    """Runs `quinion policy` with these arguments; `typed` is what its user types."""

    def execute(*arguments: str, typed: str = "") -> Ended:
        return quinion("policy", *arguments, typed=typed)

    return execute


@pytest.fixture
def well(run: Run) -> Run:
    """The same, for commands that succeed."""

    def execute(*arguments: str, typed: str = "") -> Ended:
        ended = run(*arguments, typed=typed)
        assert ended.status == 0, ended.err
        return ended

    return execute


@pytest.fixture
def registry(home: Path) -> Iterator[PolicyRegistry]:
    home.mkdir(exist_ok=True)
    registry = open_registry(home / "policies.db")
    yield registry
    registry.close()


@pytest.fixture
def nppf(well: Run, registry: PolicyRegistry) -> PolicyRegistry:
    """The spec's example: two revisions, ready without a text, so that nothing need be read."""
    well(*CREATE)
    for label, start, revision_id in (
        ("September 2023", "2023-09-05", OLD),
        ("December 2024", "2024-12-12", NEW),
    ):
        well("revise", "NPPF", "--label", label, "--from", start)
        registry.update_revision("NPPF", revision_id, READY)
    return registry


@pytest.fixture
def file(home: Path, models: Path, tmp_path: Path) -> Path:
    """A PDF of five chunks, and a home that can read it."""
    home.mkdir(exist_ok=True)
    (home / "models").symlink_to(models)
    return leaflet(tmp_path / "policy.pdf", "A")


def contents(registry: PolicyRegistry) -> object:
    return registry.list_policies(), registry.list_all_revisions()


def stored() -> dict[str, list[int]]:
    """The chunks of each revision, by the last day that they carry."""

    async def read() -> dict[str, list[int]]:
        async with open_engine(Settings.from_environment()) as engine:
            ends: dict[str, list[int]] = {}
            for record in await engine.collections.get(CHUNKS):
                revision = ends.setdefault(str(record.metadata["revision_id"]), [])
                revision.append(int(record.metadata["effective_to"]))
            return ends

    return anyio.run(read)


def refused(ended: Ended, status: int, *words: str) -> None:
    """One line says what is wrong."""
    assert ended.status == status, ended
    assert ended.out == ""
    [line] = filter(None, ended.err.splitlines())
    assert line.startswith("quinion: ")
    for word in words:
        assert word in line


class TestCreate:
    def test_a_policy_is_registered(self, well: Run, registry: PolicyRegistry) -> None:
        ended = well(*CREATE, "--description", "A sentence.")
        assert ended.out == "Registered NPPF.\n"
        [policy] = registry.list_policies()
        assert (policy.title, policy.category) == ("The Framework", "national_policy")
        assert policy.description == "A sentence."

    def test_json_has_every_field(self, well: Run) -> None:
        made = well(*CREATE, "--json").json
        assert set(made) == {
            *("source", "title", "description", "category", "created_at", "updated_at")
        }
        assert (made["source"], made["category"]) == ("NPPF", "national_policy")

    @pytest.mark.parametrize("source", ["nppf", "N-P", "1A", "A__B", "_A", "A_", "", "Ä"])
    def test_a_source_that_breaks_the_pattern_is_refused(
        self, run: Run, registry: PolicyRegistry, source: str
    ) -> None:
        ended = run("create", source, "--title", "T", "--category", "local_plan")
        refused(ended, WRONG_USE, repr(source))
        assert registry.list_policies() == []

    def test_an_empty_title_is_refused(self, run: Run) -> None:
        ended = run("create", "NPPF", "--title", " ", "--category", "local_plan")
        refused(ended, WRONG_USE, "title")

    def test_an_unknown_category_is_refused_with_those_that_exist(self, run: Run) -> None:
        ended = run("create", "NPPF", "--title", "T", "--category", "novel")
        assert ended.status == WRONG_USE
        assert "novel" in ended.err
        assert "county_strategy" in ended.err

    def test_a_second_policy_of_one_source_is_refused(self, run: Run, nppf: PolicyRegistry) -> None:
        before = contents(nppf)
        ended = run("create", "NPPF", "--title", "Another", "--category", "local_plan")
        refused(ended, FAILED, "NPPF")
        assert contents(nppf) == before


class TestRevise:
    def test_a_revision_is_registered(self, well: Run, registry: PolicyRegistry) -> None:
        well(*CREATE)
        ended = well("revise", "NPPF", "--label", "December 2024", "--from", "2024-12-12")
        assert ended.out == f"Registered {NEW}.\n"
        revision = registry.get_revision("NPPF", NEW)
        assert (revision.version_label, revision.period) == ("December 2024", "from 2024-12-12")
        assert revision.status is RevisionStatus.PROCESSING

    def test_it_prints_which_revision_ends_earlier(self, well: Run, nppf: PolicyRegistry) -> None:
        ended = well("revise", "NPPF", "--label", "Third", "--from", "2026-01-01")
        assert ended.out == f"Registered rev_NPPF_2026_01. {NEW} ends on 2025-12-31.\n"
        assert nppf.get_revision("NPPF", NEW).effective_to == date(2025, 12, 31)

    def test_json_has_the_revision_and_those_that_end_earlier(
        self, well: Run, nppf: PolicyRegistry
    ) -> None:
        made = well("revise", "NPPF", "--label", "Third", "--from", "2026-01-01", "--json").json
        assert made["revision"]["revision_id"] == "rev_NPPF_2026_01"
        assert made["revision"]["effective_to"] is None
        [other] = made["others"]
        assert (other["revision_id"], other["effective_to"]) == (NEW, "2025-12-31")
        assert other["status"] == "superseded"

    def test_a_historical_revision_has_its_end(self, well: Run, nppf: PolicyRegistry) -> None:
        well("revise", "NPPF", "--label", "Old", "--from", "2021-07-20", "--to", "2023-09-04")
        assert nppf.get_revision("NPPF", "rev_NPPF_2021_07").effective_to == date(2023, 9, 4)

    @pytest.mark.parametrize("text", BAD_DATES)
    @pytest.mark.parametrize("option", ["--from", "--to"])
    def test_a_bad_date_is_refused_and_nothing_is_registered(
        self, run: Run, nppf: PolicyRegistry, option: str, text: str
    ) -> None:
        before = contents(nppf)
        dates = {"--from": "2026-01-01", "--to": "2026-12-31", option: text}
        options = [part for pair in dates.items() for part in pair]
        refused(run("revise", "NPPF", "--label", "B", *options), WRONG_USE, text)
        assert contents(nppf) == before

    def test_an_end_before_its_start_is_refused(self, run: Run, nppf: PolicyRegistry) -> None:
        before = contents(nppf)
        dates = ("--from", "2026-01-02", "--to", "2026-01-01")
        refused(run("revise", "NPPF", "--label", "B", *dates), WRONG_USE, "effective_to")
        assert contents(nppf) == before

    def test_an_overlap_is_refused(self, run: Run, nppf: PolicyRegistry) -> None:
        before = contents(nppf)
        dates = ("--from", "2024-01-01", "--to", "2024-06-30")
        refused(run("revise", "NPPF", "--label", "B", *dates), FAILED, OLD)
        ended = run("revise", "NPPF", "--label", "B", "--from", "2024-01-01")
        refused(ended, FAILED, NEW, "2024-12-11")
        assert contents(nppf) == before

    def test_an_unknown_policy_is_refused(self, run: Run, nppf: PolicyRegistry) -> None:
        ended = run("revise", "NOT_THERE", "--label", "B", "--from", "2024-01-01")
        refused(ended, FAILED, "'NOT_THERE'")

    def test_a_file_that_is_missing_or_no_pdf_is_refused_and_nothing_is_registered(
        self, run: Run, nppf: PolicyRegistry, tmp_path: Path
    ) -> None:
        before = contents(nppf)
        arguments = ("revise", "NPPF", "--label", "B", "--from", "2026-01-01", "--file")
        refused(run(*arguments, str(tmp_path / "none.pdf")), FAILED, "none.pdf")
        (tmp_path / "notes.txt").write_text("notes")
        ended = run(*arguments, str(tmp_path / "notes.txt"))
        assert ended.status != 0
        assert ".pdf" in ended.err
        assert contents(nppf) == before


class TestEdit:
    def test_label_and_dates_are_changed(self, well: Run, nppf: PolicyRegistry) -> None:
        ended = well("edit", "NPPF", OLD, "--label", "2023", "--from", "2023-09-06")
        assert ended.out == f"{OLD} is in force 2023-09-06 to 2024-12-11.\n"
        revision = nppf.get_revision("NPPF", OLD)
        assert (revision.version_label, revision.effective_from) == ("2023", date(2023, 9, 6))
        changed = well("edit", "NPPF", OLD, "--to", "2024-12-01", "--json").json
        assert changed["revision"]["effective_to"] == "2024-12-01"
        assert changed["others"] == []

    def test_an_end_is_taken_away_by_open(self, well: Run, nppf: PolicyRegistry) -> None:
        well("edit", "NPPF", NEW, "--to", "2027-01-01")
        ended = well("edit", "NPPF", NEW, "--to", "open")
        assert ended.out == f"{NEW} is in force from 2024-12-12.\n"

    @pytest.mark.parametrize("text", BAD_DATES)
    def test_a_bad_date_is_refused(self, run: Run, nppf: PolicyRegistry, text: str) -> None:
        before = contents(nppf)
        for option in ("--from", "--to"):
            refused(run("edit", "NPPF", NEW, option, text), WRONG_USE, text)
        assert contents(nppf) == before

    def test_an_overlap_or_an_unknown_revision_is_refused(
        self, run: Run, nppf: PolicyRegistry
    ) -> None:
        before = contents(nppf)
        refused(run("edit", "NPPF", OLD, "--to", "open"), FAILED, NEW)
        refused(run("edit", "NPPF", "rev_NPPF_1999_01", "--label", "X"), FAILED, OLD, NEW)
        assert contents(nppf) == before


class TestDelete:
    def test_it_asks_and_takes_no_for_an_answer(self, run: Run, nppf: PolicyRegistry) -> None:
        before = contents(nppf)
        for typed in ("n\n", "\n", ""):
            ended = run("delete", "NPPF", OLD, typed=typed)
            assert ended.status == FAILED
            assert ended.out.strip() == ""
            assert OLD in ended.err
        assert contents(nppf) == before

    def test_it_deletes_after_a_yes(self, well: Run, nppf: PolicyRegistry) -> None:
        assert well("delete", "NPPF", OLD, typed="y\n").out.strip() == f"Deleted {OLD}."
        assert [r.revision_id for r in nppf.list_revisions("NPPF")] == [NEW]

    def test_with_yes_it_does_not_ask(self, well: Run, nppf: PolicyRegistry) -> None:
        deleted = well("delete", "NPPF", OLD, "--yes", "--json").json
        assert deleted["revision_id"] == OLD
        assert [r.revision_id for r in nppf.list_revisions("NPPF")] == [NEW]

    def test_the_only_active_revision_is_refused_without_a_question(
        self, run: Run, nppf: PolicyRegistry
    ) -> None:
        before = contents(nppf)
        refused(run("delete", "NPPF", NEW), FAILED, NEW, "only active")
        refused(run("delete", "NPPF", NEW, "--yes"), FAILED, NEW)
        assert contents(nppf) == before

    def test_what_is_not_there_is_refused_without_a_question(
        self, run: Run, nppf: PolicyRegistry
    ) -> None:
        refused(run("delete", "NPPF", "rev_NPPF_1999_01"), FAILED, "rev_NPPF_1999_01")
        refused(run("delete", "NOT_THERE", OLD), FAILED, "NOT_THERE")


class TestLists:
    def test_no_policies_say_what_to_do(self, well: Run) -> None:
        assert "quinion policy create" in well("list").out
        assert well("list", "--json").json == []

    def test_policies_are_a_table(self, well: Run, nppf: PolicyRegistry) -> None:
        out = well("list").out
        for word in ("source", "title", "category", "NPPF", "The Framework", "national_policy"):
            assert word in out
        [policy] = well("list", "--json").json
        assert policy["title"] == "The Framework"

    def test_revisions_are_a_table_and_a_timeline(self, well: Run, nppf: PolicyRegistry) -> None:
        lines = well("revisions", "NPPF").out.splitlines()
        for words in (
            (NEW, "December 2024", "from 2024-12-12", "active"),
            (OLD, "September 2023", "2023-09-05 to 2024-12-11", "superseded"),
        ):
            assert any(all(word in line for word in words) for line in lines)
        old, new, years = lines[-3:]
        assert old.startswith("September 2023") and "█" in old
        assert new.startswith("December 2024") and new.endswith("▶")
        assert "2025" in years

    def test_revisions_as_json_are_newest_first(self, well: Run, nppf: PolicyRegistry) -> None:
        listed = well("revisions", "NPPF", "--json").json
        assert [revision["revision_id"] for revision in listed] == [NEW, OLD]
        assert (listed[0]["effective_to"], listed[1]["effective_to"]) == (None, "2024-12-11")

    def test_a_policy_without_revisions_says_what_to_do(self, well: Run) -> None:
        well(*CREATE)
        assert "quinion policy revise" in well("revisions", "NPPF").out
        assert well("revisions", "NPPF", "--json").json == []

    def test_an_unknown_policy_is_refused(self, run: Run) -> None:
        refused(run("revisions", "NOT_THERE"), FAILED, "NOT_THERE")

    @pytest.mark.parametrize("text", ["[draft] plan", "[/]", "[bold]loud[/bold]", "[link=x]y"])
    def test_brackets_are_shown_as_they_are(
        self, well: Run, registry: PolicyRegistry, text: str
    ) -> None:
        well("create", "NPPF", "--title", text, "--category", "local_plan")
        well("revise", "NPPF", "--label", text, "--from", "2020-01-01")
        assert text in well("list").out
        assert well("revisions", "NPPF").out.count(text) == 2
        registry.update_revision("NPPF", "rev_NPPF_2020_01", READY)
        assert text in well("snapshot", "--date", "2020-01-01").out


class TestDates:
    def test_a_day_is_resolved(self, well: Run, nppf: PolicyRegistry) -> None:
        out = well("resolve", "NPPF", "--date", "2024-03-15").out
        assert "September 2023" in out and OLD in out and "2023-09-05 to 2024-12-11" in out
        resolved = well("resolve", "NPPF", "--date", "2024-12-12", "--json").json
        assert resolved["revision"]["revision_id"] == NEW
        assert resolved["reason"] is None

    def test_a_day_without_a_revision_has_a_reason(self, well: Run, nppf: PolicyRegistry) -> None:
        assert "date_before_first_revision" in well("resolve", "NPPF", "--date", "1999-01-01").out
        well("edit", "NPPF", OLD, "--to", "2024-01-31")
        resolved = well("resolve", "NPPF", "--date", "2024-03-15", "--json").json
        assert (resolved["revision"], resolved["reason"]) == (None, "date_in_gap")

    def test_the_revision_that_is_awaited_is_named(self, well: Run, nppf: PolicyRegistry) -> None:
        well("revise", "NPPF", "--label", "Third", "--from", "2026-01-01")
        out = well("resolve", "NPPF", "--date", "2026-01-01").out
        assert "date_in_gap" in out
        assert "rev_NPPF_2026_01 is processing" in out

    def test_a_snapshot_has_every_policy(self, well: Run, nppf: PolicyRegistry) -> None:
        well("create", "EMPTY", "--title", "T", "--category", "local_plan")
        lines = well("snapshot", "--date", "2024-03-15").out.splitlines()
        assert any("NPPF" in line and OLD in line for line in lines)
        assert any("EMPTY" in line and "no_revisions" in line for line in lines)
        snapshot = well("snapshot", "--date", "2024-03-15", "--json").json
        assert snapshot["NPPF"]["revision"]["revision_id"] == OLD
        assert snapshot["EMPTY"]["reason"] == "no_revisions"

    @pytest.mark.parametrize("text", BAD_DATES)
    def test_a_bad_date_is_refused(self, run: Run, nppf: PolicyRegistry, text: str) -> None:
        refused(run("resolve", "NPPF", "--date", text), WRONG_USE, text)
        refused(run("snapshot", "--date", text), WRONG_USE, text)

    def test_a_date_has_to_be_given(self, run: Run, nppf: PolicyRegistry) -> None:
        assert run("resolve", "NPPF").status == WRONG_USE
        assert run("snapshot").status == WRONG_USE

    def test_an_unknown_policy_is_refused(self, run: Run) -> None:
        refused(run("resolve", "NOT_THERE", "--date", "2024-03-15"), FAILED, "NOT_THERE")


class TestTexts:
    @pytest.mark.slow
    def test_a_text_is_ingested_reindexed_removed_and_deleted(
        self, run: Run, well: Run, nppf: PolicyRegistry, file: Path, tmp_path: Path
    ) -> None:
        assert well("ingest", "NPPF", OLD, str(file)).out == (
            f"{OLD}: 2 pages in 5 chunks (text_layer).\n"
        )
        revision = nppf.get_revision("NPPF", OLD)
        assert (revision.status, revision.chunk_count) == (RevisionStatus.SUPERSEDED, 5)
        assert revision.file_path == file
        # The same file as before, if none is named.
        answer = well("reindex", "NPPF", OLD, "--json").json
        assert (answer["status"], answer["chunks_created"]) == ("success", 5)
        other = leaflet(tmp_path / "other.pdf", "B", 4)
        assert well("reindex", "NPPF", OLD, str(other), "--json").json["chunks_created"] == 6
        assert stored() == {OLD: [20241211] * 6}
        assert well("check").out == "Registry and texts agree.\n"
        assert run("remove", "NPPF", OLD, typed="n\n").status == FAILED
        assert well("remove", "NPPF", OLD, "--yes").out == f"Removed 6 chunks of {OLD}.\n"
        assert nppf.get_revision("NPPF", OLD).chunk_count == 0
        assert well("remove", "NPPF", OLD, typed="y\n").out.strip().startswith("Removed 0 chunks")
        well("ingest", "NPPF", OLD, str(file))
        well("delete", "NPPF", OLD, "--yes")
        assert stored() == {}
        assert well("check", "--json").json == {"problems": []}

    @pytest.mark.slow
    def test_a_revision_and_its_text_in_one_go(
        self, well: Run, registry: PolicyRegistry, file: Path
    ) -> None:
        well(*CREATE)
        new = ("--label", "December 2024", "--from", "2024-12-12", "--file", str(file))
        answer = well("revise", "NPPF", *new, "--json").json
        assert answer["chunks_created"] == 5
        assert registry.get_revision("NPPF", NEW).status is RevisionStatus.ACTIVE
        # Dates on chunks follow what is registered and edited, in the same command.
        well("revise", "NPPF", "--label", "Third", "--from", "2026-01-01")
        assert stored() == {NEW: [20251231] * 5}
        well("edit", "NPPF", NEW, "--to", "2025-06-30")
        assert stored() == {NEW: [20250630] * 5}

    @pytest.mark.slow
    def test_a_relative_path_is_that_of_the_shell(
        self, well: Run, nppf: PolicyRegistry, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(file.parent)
        well("ingest", "NPPF", OLD, file.name)
        assert nppf.get_revision("NPPF", OLD).file_path == file

    def test_a_file_that_can_t_be_read_fails_and_says_why(
        self, run: Run, nppf: PolicyRegistry, file: Path, tmp_path: Path
    ) -> None:
        damaged = truncated_pdf(tmp_path / "damaged.pdf")
        refused(run("ingest", "NPPF", OLD, str(damaged)), FAILED, "damaged")
        revision = nppf.get_revision("NPPF", OLD)
        assert (revision.status, revision.chunk_count) == (RevisionStatus.FAILED, 0)
        blank = make_pdf(tmp_path / "blank.pdf", [Blank()])
        refused(run("ingest", "NPPF", OLD, str(blank)), FAILED, "blank.pdf")
        refused(run("ingest", "NPPF", OLD, str(tmp_path / "none.pdf")), FAILED, "none.pdf")
        assert stored() == {}

    def test_a_reindex_needs_a_file_the_first_time(self, run: Run, nppf: PolicyRegistry) -> None:
        refused(run("reindex", "NPPF", OLD), WRONG_USE, OLD)

    def test_an_unknown_revision_is_refused(
        self, run: Run, nppf: PolicyRegistry, file: Path
    ) -> None:
        unknown = "rev_NPPF_1999_01"
        refused(run("ingest", "NPPF", unknown, str(file)), FAILED, unknown)
        refused(run("reindex", "NPPF", unknown), FAILED, unknown)
        refused(run("remove", "NPPF", unknown, "--yes"), FAILED, unknown)


class TestSeed:
    def test_the_six_seed_policies_are_registered_once(
        self, well: Run, registry: PolicyRegistry
    ) -> None:
        sources = [draft.source for draft in SEED_POLICIES]
        assert well("seed", "--json").json == {"policies": sources}
        assert [policy.source for policy in registry.list_policies()] == sorted(sources)
        before = contents(registry)
        out = well("seed").out
        assert all(source in out for source in sources)
        assert contents(registry) == before

    @pytest.mark.slow
    def test_texts_are_ingested_and_what_they_follow_ends_in_the_same_command(
        self, well: Run, registry: PolicyRegistry, file: Path, tmp_path: Path
    ) -> None:
        well("seed", f"NPPF@2023-09-05={file}")
        other = leaflet(tmp_path / "b=@.pdf", "B")
        well("seed", f"NPPF@2024-12-12={other}", f"LTN_1_20@2020-07-27={file}")
        ends = {OLD: 20241211, NEW: 99991231, "rev_LTN_1_20_2020_07": 99991231}
        assert stored() == {revision: [end] * 5 for revision, end in ends.items()}
        labels = [r.version_label for r in registry.list_revisions("NPPF")]
        assert labels == ["December 2024", "September 2023"]

    @pytest.mark.slow
    def test_json_is_one_document(self, well: Run, file: Path) -> None:
        seeded = well("seed", f"NPPF@2023-09-05={file}", f"LTN_1_20@2020-07-27={file}", "--json")
        assert seeded.json

    @pytest.mark.parametrize(
        "text", ["NPPF", "NPPF@2024-12-12", "NPPF=policy.pdf", "NPPF@2024-02-30=policy.pdf", ""]
    )
    def test_a_text_of_another_form_is_refused(
        self, run: Run, registry: PolicyRegistry, file: Path, text: str
    ) -> None:
        refused(run("seed", text.replace("policy.pdf", str(file))), WRONG_USE)
        assert registry.list_all_revisions() == {}

    def test_a_text_that_can_t_be_registered_leaves_no_trace_of_the_others(
        self, run: Run, registry: PolicyRegistry, file: Path
    ) -> None:
        refused(run("seed", f"NPPF@2024-12-12={file}", "NPPF@2025-01-01=none.pdf"), FAILED)
        for second in (f"NOT_THERE@2024-12-12={file}", f"NPPF@2024-12-12={file}"):
            assert run("seed", f"NPPF@2024-12-12={file}", second).status == FAILED
            assert not any(registry.list_all_revisions().values())


class TestTheWhole:
    def test_help_names_every_command(self, run: Run) -> None:
        ended = run("--help")
        assert ended.status == 0
        for command in (
            *("create", "revise", "edit", "delete", "list", "revisions", "ingest", "reindex"),
            *("remove", "resolve", "snapshot", "check", "seed"),
        ):
            assert f" {command} " in ended.out

    @pytest.mark.parametrize("arguments", [(), ("unknown",), ("create",), ("list", "--unknown")])
    def test_wrong_use_is_refused(self, run: Run, arguments: tuple[str, ...]) -> None:
        assert run(*arguments).status == WRONG_USE

    def test_a_redis_that_is_not_there_is_one_line(
        self, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:9/0")
        refused(run("list"), FAILED, "REDIS_URL")
        refused(run(*CREATE), FAILED, "REDIS_URL")
        assert not (home / "policies.db").exists()

    def test_a_bad_setting_is_one_line(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REDIS_URL", "localhost:6379")
        refused(run("list"), BAD_SETTING, "REDIS_URL")

    def test_a_home_that_another_process_has_is_one_line(
        self, run: Run, nppf: PolicyRegistry, file: Path
    ) -> None:
        async def hold() -> Ended:
            async with open_engine(Settings.from_environment()):
                return await anyio.to_thread.run_sync(lambda: run("check"))

        refused(anyio.run(hold), HOME_IN_USE, str(os.getpid()))


class TestDrafts:
    def test_a_draft_is_registered_searched_and_published(
        self, well: Run, nppf: PolicyRegistry, file: Path
    ) -> None:
        made = well(
            *("revise", "NPPF", "--label", "Draft", "--from", "2026-02-01", "--draft"),
            *("--file", str(file)),
        )
        assert "Registered the draft rev_NPPF_2026_02." in made.out
        listed = well("revisions", "NPPF").out
        assert "draft" in listed
        assert "planned from" in " ".join(listed.replace("│", " ").split())
        assert stored() == {"rev_NPPF_2026_02": [0] * 5}
        published = well("publish", "NPPF", "rev_NPPF_2026_02")
        assert published.out == (
            f"rev_NPPF_2026_02 is in force from 2026-02-01. {NEW} ends on 2026-01-31.\n"
        )
        assert stored() == {"rev_NPPF_2026_02": [99991231] * 5}

    def test_a_draft_without_text_is_published_with_a_note(
        self, well: Run, nppf: PolicyRegistry
    ) -> None:
        well("revise", "NPPF", "--label", "Draft", "--from", "2026-02-01", "--draft")
        published = well("publish", "NPPF", "rev_NPPF_2026_02", "--from", "2026-03-01")
        assert "from 2026-03-01" in published.out
        assert "no text yet" in published.out

    def test_only_a_draft_can_be_published(self, run: Run, nppf: PolicyRegistry) -> None:
        refused(run("publish", "NPPF", NEW), WRONG_USE, NEW, "no draft")


class TestUndo:
    def test_the_question_says_what_is_in_force_again(
        self, run: Run, well: Run, nppf: PolicyRegistry, models: Path
    ) -> None:
        asked = run("undo", "NPPF", NEW, typed="n\n")
        assert asked.status == FAILED
        assert f"{OLD} is in force from 2023-09-05 again." in asked.err
        assert len(nppf.list_revisions("NPPF")) == 2
        done = well("undo", "NPPF", NEW, "--yes")
        assert done.out == f"Deleted {NEW}. {OLD} is in force from 2023-09-05 again.\n"
        [reopened] = nppf.list_revisions("NPPF")
        assert (reopened.revision_id, reopened.effective_to) == (OLD, None)


class TestDeletePolicy:
    @pytest.mark.slow
    def test_a_policy_is_deleted_with_its_revisions_and_texts_after_a_question(
        self, run: Run, well: Run, registry: PolicyRegistry, file: Path
    ) -> None:
        well(*CREATE)
        well("revise", "NPPF", "--label", "L", "--from", "2023-09-05", "--file", str(file))
        asked = run("delete", "NPPF", typed="n\n")
        assert asked.status == FAILED
        assert "Delete NPPF (The Framework) with 1 revision and all texts?" in asked.err
        assert list(stored()) == [OLD]
        done = well("delete", "NPPF", "--yes")
        assert done.out == "Deleted NPPF with 1 revision.\n"
        assert registry.list_policies() == []
        assert stored() == {}


def test_a_text_in_force_is_not_superseded_by_a_future_revision(
    well: Run, nppf: PolicyRegistry
) -> None:
    well("revise", "NPPF", "--label", "Future", "--from", "2999-01-01")
    lines = well("revisions", "NPPF").out.splitlines()
    [row] = [line for line in lines if NEW in line]
    assert "active" in row
    assert "superseded" not in row


@pytest.mark.parametrize(
    ("day", "words"),
    [
        ("2020-01-01", "the date is before the first revision (date_before_first_revision)"),
        ("2024-06-01", "no revision was in force"),
    ],
)
def test_a_reason_is_given_in_words_beside_its_code(
    well: Run, nppf: PolicyRegistry, day: str, words: str
) -> None:
    if day == "2024-06-01":
        well("edit", "NPPF", OLD, "--to", "2024-01-01")
    assert words in well("resolve", "NPPF", "--date", day).out
    assert words in " ".join(well("snapshot", "--date", day).out.replace("│", " ").split())
