"""Policies in the console: time line, sections and comparison."""

import html
import re
from datetime import date

import pytest

from quinion.console.calls import CallFailed
from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft
from quinion.servers import policy_kb
from quinion.servers.policy_kb import REGISTRY_FILE
from quinion.store.policies import open_registry
from tests.contract.console.conftest import Console

FIRST, SECOND = "rev_EVIL_2020_01", "rev_EVIL_2024_01"


def test_revisions_are_drawn_on_a_time_line(stocked: Console) -> None:
    [policy] = stocked.json("/policies")["policies"]
    bars = policy["line"]["bars"]
    assert [bar["revision"]["revision_id"] for bar in bars] == [FIRST, SECOND]
    assert [bar["is_open"] for bar in bars] == [False, True]
    assert bars[0]["start"] + bars[0]["width"] == pytest.approx(bars[1]["start"], abs=1)
    assert bars[1]["start"] < policy["line"]["now"] <= bars[1]["start"] + bars[1]["width"]
    page = stocked.page("/policies")
    assert f'href="/policies/EVIL?revision={FIRST}"' in page


@pytest.mark.parametrize(
    ("query", "revision"),
    [
        ("", SECOND),
        ("?date=2023-12-31", FIRST),
        ("?date=2024-01-01", SECOND),
        (f"?revision={FIRST}", FIRST),
    ],
)
def test_the_revision_of_a_day_is_shown(stocked: Console, query: str, revision: str) -> None:
    assert stocked.json(f"/policies/EVIL{query}")["outline"]["revision_id"] == revision


def test_a_day_without_a_text_is_explained(stocked: Console) -> None:
    shown = stocked.json("/policies/EVIL?date=2019-12-31")
    assert shown["outline"] is None
    assert "No text of EVIL was in force" in stocked.page("/policies/EVIL?date=2019-12-31")
    assert stocked.get("/policies/EVIL?date=31.12.2019").status_code == 400
    assert stocked.get("/policies/NONE").status_code == 404


def test_sections_are_a_tree_to_read(stocked: Console) -> None:
    shown = stocked.json("/policies/EVIL?section=Para+1.2")
    depths = {one["ref"]: one["depth"] for one in shown["outline"]["sections"]}
    assert depths["Para 1.2"] > 1
    assert "1.2 In the text of" in shown["section"]["text"]
    assert "2024" in shown["section"]["text"]
    missing = stocked.json("/policies/EVIL?section=Para+99")
    assert missing["outline"]
    assert "no section" in missing["missing"].lower()


def test_two_revisions_are_compared_side_by_side(stocked: Console) -> None:
    compared = stocked.json("/policies/EVIL/compare")
    assert (compared["before"]["revision_id"], compared["after"]["revision_id"]) == (FIRST, SECOND)
    [row] = [row for row in compared["rows"] if row["refs"] == "Para 1.2"]
    removed = [piece["text"] for piece in row["before"]["pieces"] if piece["mark"] == "removed"]
    assert removed == ["2020"]
    page = stocked.page("/policies/EVIL/compare")
    assert "<del>2020</del>" in page
    assert "<ins>2024</ins>" in page
    reworded = stocked.json("/policies/EVIL/compare?change=reworded")
    assert {row["change"] for row in reworded["rows"]} == {"reworded"}


def test_a_comparison_needs_two_revisions(stocked: Console) -> None:
    answer = stocked.get(f"/policies/EVIL/compare?before={FIRST}&after={FIRST}")
    assert answer.status_code == 400
    assert "nothing to compare" in answer.text


def test_a_result_leads_to_its_section(stocked: Console) -> None:
    hits = stocked.json("/?q=hedges&kind=policies&mode=hybrid")["hits"]
    hit = next(hit for hit in hits if hit["label"].startswith("Para"))
    shown = stocked.json(re.sub("#.*", "", hit["open"]))
    assert shown["section"]["section_ref"] == hit["label"]


def test_a_revision_that_could_not_be_ingested_says_why(locked: Console) -> None:
    locked.enter()
    registry = open_registry(locked.home.path / REGISTRY_FILE, None)
    try:
        registry.create_policy(PolicyDraft("NEW", "New plan", PolicyCategory.LOCAL_PLAN, ""))
        plan = registry.create_revision("NEW", RevisionDraft("First", date(2024, 1, 1)))
        revision = plan.revision.revision_id
        broken = locked.home.files / "broken.pdf"
        broken.write_bytes(b"no document")
        with pytest.raises(CallFailed):
            locked.call(
                policy_kb.NAME,
                "ingest_policy_revision",
                source="NEW",
                revision_id=revision,
                file_path=str(broken),
            )
        error = registry.get_revision("NEW", revision).error
    finally:
        registry.close()
    assert error
    page = html.unescape(locked.page("/policies"))
    assert error in page
    assert f"quinion policy reindex NEW {revision}" in page
