"""`compare_with` and `changes`: what changed between two revisions of a policy."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from quinion.store.policies import PolicyRegistry
from tests.contract.local import LocalServer
from tests.contract.policy_kb.asking import (
    REVISION_KEYS,
    SECTION_ADDITIONS,
    SECTION_KEYS,
    ingest_well,
    refusal,
    register,
    remove,
    revise,
)
from tests.contract.policy_kb.conftest import NewPlace
from tests.contract.policy_kb.plans import (
    LONG,
    NEW_HOMES,
    OLD_HOMES,
    ROADS,
    long_chapter,
    plan,
)
from tests.contract.policy_kb.serving import Place
from tests.contract.session import Answer, Session

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)


@dataclass(frozen=True)
class Stock:
    """A policy with two texts, and a revision without a text."""

    session: Session
    source: str
    bare: str
    old: str
    new: str

    def read(self, section_ref: str, compare_with: str, **options: Any) -> Answer:
        return self.session.call(
            "get_policy_section",
            source=self.source,
            section_ref=section_ref,
            compare_with=compare_with,
            **options,
        )

    def compare(self, section_ref: str, compare_with: str, **options: Any) -> Answer:
        answer = self.read(section_ref, compare_with, **options)
        assert answer["status"] == "success", answer
        assert set(answer) == SECTION_KEYS | SECTION_ADDITIONS | {"comparison"}
        comparison: Answer = answer["comparison"]
        assert comparison["earlier"]["revision_id"] == self.old
        assert comparison["later"]["revision_id"] == self.new
        assert comparison["truncated"] is False
        return comparison


@pytest.fixture(scope="module")
def place(kind: str, new_place: NewPlace) -> Place:
    return new_place(kind)


@pytest.fixture(scope="module")
def server(place: Place) -> Iterator[LocalServer]:
    with place.serve() as server:
        yield server


@pytest.fixture(scope="module")
def session(server: LocalServer) -> Iterator[Session]:
    with server.session() as session:
        yield session


@pytest.fixture(scope="module")
def registry(place: Place) -> Iterator[PolicyRegistry]:
    with place.registry() as registry:
        yield registry


@pytest.fixture(scope="module")
def stock(session: Session, registry: PolicyRegistry, files: Path) -> Stock:
    source = register(registry)
    bare = revise(registry, source, "2019", date(2019, 1, 1), date(2019, 12, 31))
    old = revise(registry, source, "2023", date(2023, 9, 5), date(2024, 10, 31))
    new = revise(registry, source, "2024", date(2024, 12, 12))
    ingest_well(session, source, old, plan(files / "old.pdf", OLD_HOMES, ROADS))
    ingest_well(session, source, new, plan(files / "new.pdf", NEW_HOMES, ROADS))
    return Stock(session, source, bare, old, new)


def test_a_section_comes_with_its_counterpart_and_the_words_that_differ(stock: Stock) -> None:
    found = stock.compare("Para 102", "2023-10-01")
    assert (found["change"], found["counterpart"]) == ("renumbered", ["Para 101"])
    [changed] = found["changed"]
    assert changed == {
        "change": "renumbered",
        "earlier": ["Para 101"],
        "later": ["Para 102"],
        "counterpart_text": f"101. {OLD_HOMES[0]}",
        "counterpart_pages": [2],
        "differences": [
            {"earlier": "should", "later": "must", "flags": ["obligation"]},
            {"earlier": "10", "later": "15", "flags": ["number"]},
        ],
    }
    assert found["earlier"] == {
        "revision_id": stock.old,
        "version_label": "2023",
        "effective_from": "2023-09-05",
        "effective_to": "2024-10-31",
    }


def test_the_comparison_is_from_the_earlier_to_the_later_whichever_is_asked(stock: Stock) -> None:
    found = stock.compare("Para 101", stock.new, revision_id=stock.old)
    assert (found["change"], found["counterpart"]) == ("renumbered", ["Para 102"])
    [changed] = found["changed"]
    assert changed["counterpart_text"] == f"102. {NEW_HOMES[1]}"
    assert changed["differences"][0] == {
        "earlier": "should",
        "later": "must",
        "flags": ["obligation"],
    }


def test_a_chapter_has_what_was_added_and_removed_inside_it(stock: Stock) -> None:
    for asked in ({}, {"revision_id": stock.old}):
        other = stock.old if not asked else stock.new
        found = stock.compare("Chapter 11", other, **asked)
        assert (found["change"], found["counterpart"]) == ("reworded", ["Chapter 11"])
        changes = [(one["change"], one["earlier"], one["later"]) for one in found["changed"]]
        assert sorted(changes) == [
            ("added", [], ["Para 101"]),
            ("removed", ["Para 103"], []),
            ("renumbered", ["Para 101"], ["Para 102"]),
            ("renumbered", ["Para 102"], ["Para 103"]),
        ]
        assert found["counts"]["unchanged"] == 1


def test_an_unchanged_section_has_no_differences(stock: Stock) -> None:
    found = stock.compare("Chapter 12", stock.old)
    assert (found["change"], found["changed"]) == ("unchanged", [])
    assert found["counts"]["unchanged"] == 1 + len(ROADS)


def test_a_new_section_has_no_counterpart(stock: Stock) -> None:
    found = stock.compare("Para 101", stock.old)
    assert (found["change"], found["counterpart"]) == ("added", [])


@pytest.mark.parametrize(
    ("compare_with", "error_type", "words"),
    [
        ("{new}", "invalid_input", "Both are {new}"),
        ("2025-01-01", "invalid_input", "Both are {new}"),
        ("rev_1", "revision_not_found", "has no revision 'rev_1'. It has"),
        ("2018-01-01", "revision_not_found", "(date_before_first_revision)"),
        ("2024-11-15", "revision_not_found", "(date_in_gap)"),
        ("2019-06-01", "revision_not_found", "{bare} has that day, and its text is not"),
        ("{bare}", "section_not_found", "has no text. Ingest it with ingest_policy_revision"),
        ("12.3.2024", "invalid_date", "YYYY-MM-DD"),
        ("2024-02-30", "invalid_date", "2024-02-30 is not a day"),
        ("", "invalid_date", "The date is empty"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    stock: Stock, compare_with: str, error_type: str, words: str
) -> None:
    names = {"new": stock.new, "bare": stock.bare}
    answer = stock.read("Para 102", compare_with.format(**names))
    assert words.format(**names) in refusal(answer, error_type)


def test_a_section_that_only_the_other_revision_has_is_not_found(stock: Stock) -> None:
    answer = stock.read("Para 115", stock.old)
    assert "There is no section 'Para 115'" in refusal(answer, "section_not_found")


def test_without_compare_with_an_answer_is_that_of_the_contract(stock: Stock) -> None:
    answer = stock.session.call("get_policy_section", source=stock.source, section_ref="Para 102")
    assert set(answer) == SECTION_KEYS | SECTION_ADDITIONS
    listed = stock.session.call("list_policy_revisions", source=stock.source)
    assert all(set(one) == REVISION_KEYS for one in listed["revisions"])


def test_each_revision_has_the_changes_since_the_one_before(stock: Stock) -> None:
    answer = stock.session.call("list_policy_revisions", source=stock.source, changes=True)
    new, old, bare = (one["changes"] for one in answer["revisions"])
    assert all(set(one) == REVISION_KEYS | {"changes"} for one in answer["revisions"])
    assert (new["since"], new["reworded"], new["note"]) == (stock.old, 1, None)
    assert {kind: count for kind, count in new["counts"].items() if count} == {
        **{"unchanged": 3 + len(ROADS), "renumbered": 2, "added": 1, "removed": 1}
    }
    assert new["changed"] == {
        "renumbered": ["Para 101 → Para 102", "Para 102 → Para 103"],
        "added": ["Para 101"],
        "removed": ["Para 103"],
    }
    assert 0.05 < new["changed_share"] < 0.1
    assert old["note"] == "There is no earlier revision with a text."
    assert bare["note"] == f"{stock.bare} has no text. Ingest it with ingest_policy_revision."
    assert (old["since"], bare["since"], bare["changed_share"]) == (None, None, None)


def test_changes_follow_a_text_that_is_ingested_again(
    session: Session, registry: PolicyRegistry, files: Path
) -> None:
    source = register(registry)
    old = revise(registry, source, "2023", date(2023, 9, 5))
    new = revise(registry, source, "2024", date(2024, 12, 12))

    def changes() -> Answer:
        listed = session.call("list_policy_revisions", source=source, changes=True)
        found: Answer = listed["revisions"][0]["changes"]
        return found

    for revision_id in (old, new):
        ingest_well(session, source, revision_id, plan(files / "a.pdf", OLD_HOMES, ROADS))
    assert (changes()["changed"], changes()["changed_share"]) == ({}, 0.0)
    again = plan(files / "b.pdf", NEW_HOMES, ROADS)
    ingest_well(session, source, new, again, reindex=True)
    assert changes()["changed"]["added"] == ["Para 101"]
    remove(session, source, old)
    assert changes()["note"] == "There is no earlier revision with a text."


@pytest.mark.slow
def test_a_comparison_of_a_long_chapter_comes_with_its_parts(
    session: Session, registry: PolicyRegistry, files: Path
) -> None:
    source = register(registry)
    revisions = [
        revise(registry, source, "2023", date(2023, 9, 5)),
        revise(registry, source, "2024", date(2024, 12, 12)),
    ]
    for revision_id, word in zip(revisions, ("should", "must"), strict=True):
        ingest_well(session, source, revision_id, long_chapter(files / f"{word}.pdf", word))
    seen: list[str] = []
    start: int | None = 0
    parts = 0
    while start is not None:
        answer = session.call(
            "get_policy_section",
            source=source,
            section_ref="Chapter 11",
            compare_with=revisions[0],
            from_part=start,
        )
        assert answer["status"] == "success", answer
        changed = answer["comparison"]["changed"]
        assert answer["comparison"]["truncated"] is False
        for one in changed:
            assert one["counterpart_text"].split(".")[0] in answer["text"]
        seen += [ref for one in changed for ref in one["later"]]
        start, parts = answer["next_part"], parts + 1
    assert seen == [f"Para {number}" for number in range(101, 101 + LONG)]
    assert parts > 1
