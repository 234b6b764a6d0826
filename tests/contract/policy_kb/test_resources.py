"""Policies, revisions and sections as resources, the prompts, and how names complete."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from urllib.parse import quote

import pytest

from quinion.store.policies import PolicyRegistry
from tests.contract.local import LocalServer
from tests.contract.policy_kb.asking import (
    ingest_well,
    list_policies,
    list_revisions,
    register,
    revise,
)
from tests.contract.policy_kb.asking import read as call_for
from tests.contract.policy_kb.conftest import NewPlace
from tests.contract.policy_kb.policies import framework, framework_paragraph
from tests.contract.policy_kb.serving import Place
from tests.contract.resources import (
    addresses,
    complete,
    fill,
    prompts,
    read,
    read_json,
    refused,
    steps,
    templates,
    unfilled,
)
from tests.contract.session import Session

# The registries are told apart elsewhere; here it is the protocols.
pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)

POLICIES = "policy://policies"
REVISIONS = "policy://{source}/revisions{?from_revision}"
SECTION = "policy://{source}/section/{section_ref}{?date,from_part}"
PAGE = "policy://{source}/revision/{revision_id}/page/{number}{?chunk}"
COMPARISON = "policy://{source}/comparison/{earlier}/{later}{?from_part}"
REVISION_SECTION = "policy://{source}/revision/{revision_id}/section/{section_ref}{?from_part}"


@dataclass(frozen=True)
class Stock:
    """A policy of a session's own: two revisions with texts, and a third that has none yet."""

    session: Session
    source: str
    old: str
    new: str
    bare: str


@pytest.fixture(scope="module")
def place(kind: str, new_place: NewPlace) -> Place:
    """A home of this file's own: its texts are those that searches elsewhere look for."""
    return new_place(kind)


@pytest.fixture(scope="module")
def server(place: Place) -> Iterator[LocalServer]:
    with place.serve() as server:
        yield server


@pytest.fixture(scope="module", params=["auto", "legacy"])
def session(server: LocalServer, request: pytest.FixtureRequest) -> Iterator[Session]:
    """The protocol that a client speaks: the newest, or the one before 2026."""
    with server.session(request.param) as session:
        yield session


@pytest.fixture(scope="module")
def registry(place: Place) -> Iterator[PolicyRegistry]:
    with place.registry() as registry:
        yield registry


@pytest.fixture(scope="module")
def stock(session: Session, registry: PolicyRegistry, files: Path) -> Stock:
    source = register(registry, "A framework")
    bare = revise(registry, source, "2019", date(2019, 1, 1), date(2019, 12, 31))
    old = revise(registry, source, "September 2023", date(2023, 9, 5))
    new = revise(registry, source, "December 2024", date(2024, 12, 12))
    for revision_id, edition in ((old, "September 2023"), (new, "December 2024")):
        file = framework(files / f"{source} {edition}.pdf", edition)
        ingest_well(session, source, revision_id, file)
    return Stock(session, source, old, new, bare)


def split(text: str) -> tuple[str, str]:
    """What to cite, and the text of the section."""
    cited, _, section = text.partition("\n\n")
    return cited, section


def test_what_can_be_read_is_listed_and_explained(stock: Stock) -> None:
    assert templates(stock.session) == [REVISIONS, SECTION, REVISION_SECTION, PAGE, COMPARISON]
    first, *listed = addresses(stock.session)
    assert first == POLICIES
    assert f"policy://{stock.source}/revisions" in listed


def test_policies_and_revisions_are_listed_as_their_tools_list_them(stock: Stock) -> None:
    assert read_json(stock.session, POLICIES)["policies"] == list_policies(stock.session)
    address = f"policy://{stock.source}/revisions"
    answer = read_json(stock.session, address)
    assert answer == stock.session.call("list_policy_revisions", source=stock.source)
    assert [one["revision_id"] for one in answer["revisions"]] == [stock.new, stock.old, stock.bare]
    rest = read_json(stock.session, f"{address}?from_revision=2")
    assert rest["revisions"] == list_revisions(stock.session, stock.source)[2:]


@pytest.mark.parametrize(
    ("day", "edition", "period"),
    [
        ("2023-09-05", "September 2023", "in force 2023-09-05 to 2024-12-11"),
        ("2024-12-11", "September 2023", "in force 2023-09-05 to 2024-12-11"),
        ("2024-12-12", "December 2024", "in force from 2024-12-12"),
        (None, "December 2024", "in force from 2024-12-12"),
    ],
)
def test_a_section_is_that_of_the_text_in_force_on_the_day(
    stock: Stock, day: str | None, edition: str, period: str
) -> None:
    address = f"policy://{stock.source}/section/Para%20116"
    cited, text = split(read(stock.session, f"{address}?date={day}" if day else address))
    assert text == framework_paragraph(116, edition)
    revision_id = stock.old if edition == "September 2023" else stock.new
    assert cited == f"{stock.source}, {edition} ({revision_id}, {period}), Para 116, page 4"


def test_a_section_of_a_revision_is_what_its_tool_reads(stock: Stock) -> None:
    address = f"policy://{stock.source}/revision/{stock.old}/section/chapter%2011"
    cited, text = split(read(stock.session, address))
    answer = call_for(stock.session, stock.source, "chapter 11", revision_id=stock.old)
    assert text == answer["text"]
    assert cited.endswith("chapter 11, page 3")
    end = read(stock.session, f"{address}?from_part=3")
    assert text.endswith(split(end)[1])


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("policy://NOTHING/revisions", "NOTHING"),
        ("policy://NOTHING/section/Para%201", "NOTHING"),
        ("policy://{source}/section/Para%20999", "There is no section 'Para 999' in"),
        ("policy://{source}/section/Para%20115a?date=2020-01-01", "was in force on 2020-01-01"),
        ("policy://{source}/section/Para%20116?date=2018-01-01", "Its revisions: .*{old}"),
        ("policy://{source}/section/Para%20116?date=2018-01-01", "date_before_first_revision"),
        ("policy://{source}/section/Para%20116?date=2019-06-01", "{bare} has that day"),
        ("policy://{source}/section/Para%20116?date=12.3.2024", "YYYY-MM-DD"),
        ("policy://{source}/section/Para%20116?date=", "The date is empty"),
        ("policy://{source}/section/Para%20116?from_part=7", "Para 116 has 1 parts"),
        ("policy://{source}/section/Para%20116?from_part=x", "from_part: .* valid integer"),
        ("policy://{source}/revision/rev_1/section/Para%20116", "has no revision 'rev_1'. It has"),
        ("policy://{source}/revision/{bare}/section/Para%201", "has no text. Ingest it with"),
        ("policy://{source}/comparison/{old}/{old}", "Both are {old} of"),
        ("policy://{source}/comparison/{bare}/{old}", "has no text. Ingest it with"),
        ("policy://{source}/comparison/2018-01-01/{old}", "date_before_first_revision"),
        ("policy://{source}/comparison/2019-06-01/{old}", "{bare} has that day"),
        ("policy://{source}/comparison/12.3.2024/{old}", "YYYY-MM-DD"),
        ("policy://{source}/comparison/rev_1/{old}", "has no revision 'rev_1'. It has"),
        ("policy://{source}/comparison/2023-10-01/2025-01-01?from_part=99", "has 22 parts"),
        ("policy://NOTHING/comparison/2023-10-01/2025-01-01", "NOTHING"),
        ("policy://{source}", r"Unknown resource: .* policy://\{source\}/revisions"),
    ],
)
def test_a_resource_that_is_not_there_says_what_to_do(
    stock: Stock, address: str, words: str
) -> None:
    def fill_in(text: str) -> str:
        named = {"{source}": stock.source, "{bare}": stock.bare, "{old}": stock.old}
        for name, value in named.items():
            text = text.replace(name, value)
        return text

    message = refused(stock.session, fill_in(address))
    assert re.search(words if "Unknown" in words else fill_in(words), message), message


def test_a_comparison_of_two_revisions_is_markdown(stock: Stock) -> None:
    def compare(earlier: str, later: str) -> str:
        address = f"policy://{stock.source}/comparison/{earlier}/{later}"
        return read(stock.session, address, "text/markdown")

    text = compare(stock.old, stock.new)
    assert text.startswith(f"# What changed in {stock.source}\n")
    assert "| reworded | 21 |" in text
    assert "| unchanged | 3 |" in text
    assert "## Para 101\n\nReworded, a date changed. Page 3 → 3." in text
    assert "in the ~~September 2023~~ **December 2024** edition." in text
    assert compare("2023-10-01", "2025-01-01") == text
    end = compare(stock.old, f"{stock.new}?from_part=21")
    assert end.startswith("## Para 120")
    assert text.endswith(end)


def test_sources_revisions_and_dates_complete(stock: Stock) -> None:
    session, chosen = stock.session, {"source": stock.source}
    assert complete(session, REVISIONS, "source", stock.source.lower())[0] == stock.source
    revisions = [stock.new, stock.old, stock.bare]
    assert complete(session, REVISION_SECTION, "revision_id", **chosen) == revisions
    assert complete(session, REVISION_SECTION, "revision_id", "2023", **chosen) == [stock.old]
    starts = ["2024-12-12", "2023-09-05", "2019-01-01"]
    assert complete(session, SECTION, "date", **chosen) == starts
    assert complete(session, "compare_revisions", "earlier", "2023", **chosen) == starts[1:2]
    for name in ("revision_id", "date", "section_ref"):
        assert complete(session, SECTION, name) == []
        assert complete(session, SECTION, name, source="NOTHING") == []


def test_sections_complete_from_the_text_that_is_meant(stock: Stock) -> None:
    session = stock.session
    refs = complete(session, SECTION, "section_ref", source=stock.source)
    assert {"Chapter 11", "Para 101", "Para 120"} <= set(refs)
    # Each is a reference that can be read.
    for ref in refs:
        assert read(session, f"policy://{stock.source}/section/{quote(ref, safe='')}")
    assert complete(session, SECTION, "section_ref", "para 10", source=stock.source) == [
        f"Para {number}" for number in range(101, 110)
    ]
    for chosen in ({"date": "2023-10-01"}, {"revision_id": stock.old}):
        assert complete(session, SECTION, "section_ref", source=stock.source, **chosen) == refs
    for chosen in ({"date": "2018-01-01"}, {"date": "today"}, {"revision_id": stock.bare}):
        assert complete(session, SECTION, "section_ref", source=stock.source, **chosen) == []


def test_the_prompts_name_the_tools_and_what_was_asked(session: Session) -> None:
    assert prompts(session) == {
        "text_in_force": {"date": True, "topic": True, "source": False},
        "compare_revisions": dict.fromkeys(("source", "section_ref", "earlier", "later"), True),
        "what_changed": dict.fromkeys(("source", "earlier", "later"), True),
    }
    text = fill(session, "text_in_force", date="2024-03-15", topic="cycle parking", source="NPPF")
    assert "what NPPF says about the following on 2024-03-15: cycle parking" in text
    assert 'effective_date="2024-03-15", sources=["NPPF"])' in text
    for tool in ("list_policy_revisions", "search_policy", "get_policy_section"):
        assert f"`{tool}" in text
    text = fill(session, "text_in_force", date="2024-03-15", topic="cycle parking")
    assert "what the policies say about" in text
    assert 'effective_date="2024-03-15")' in text
    assert "`list_policy_documents`" in text
    text = fill(
        session,
        "compare_revisions",
        source="NPPF",
        section_ref="Para 116",
        earlier="2024-01-01",
        later="2025-01-01",
    )
    assert "Para 116 of NPPF as it was in force on 2024-01-01" in text
    assert 'section_ref="Para 116", revision_id=<that of 2025-01-01>, compare_with="2024-' in text
    text = fill(session, "what_changed", source="NPPF", earlier="2024-01-01", later="2025-01-01")
    assert 'list_policy_revisions(source="NPPF", changes=true)' in text
    assert "`policy://NPPF/comparison/2024-01-01/2025-01-01`" in text


@pytest.mark.parametrize(
    ("prompt", "arguments", "words"),
    [
        ("text_in_force", {"date": "March", "topic": "hedges"}, "YYYY-MM-DD"),
        ("text_in_force", {"date": "2024-03-15", "topic": " "}, "topic is empty"),
        ("text_in_force", {"topic": "hedges"}, "date"),
        (
            "compare_revisions",
            {"source": "A", "section_ref": "1", "earlier": "2024-03-15", "later": "2024-03-15"},
            "must be before",
        ),
        (
            "what_changed",
            {"source": "A", "earlier": "2025-03-15", "later": "2024-03-15"},
            "must be before",
        ),
        ("what_changed", {"source": " ", "earlier": "2024-03-15", "later": "2025-03-15"}, "empty"),
        (
            "compare_prices",
            {},
            "The prompts are: text_in_force, compare_revisions, what_changed.",
        ),
    ],
)
def test_a_prompt_with_a_wrong_argument_says_so(
    session: Session, prompt: str, arguments: dict[str, str], words: str
) -> None:
    assert words in unfilled(session, prompt, **arguments)


def test_a_tool_says_that_it_begins_and_that_it_has_ended(stock: Stock) -> None:
    both = [(0, 1), (1, 1)]
    assert steps(stock.session, "search_policy", query="cycle lanes") == both
    missing = {"source": stock.source, "revision_id": "rev_1"}
    assert steps(stock.session, "remove_policy_revision", **missing) == both
