"""Documents and applications as resources, the prompt, and how names complete."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.contract.document_store.asking import (
    DOCUMENT_TYPES,
    ingest_well,
    list_documents,
    read_text,
)
from tests.contract.local import LocalServer
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
from tests.documents import PROSE, text_pdf

APPLICATIONS = "documents://applications"
APPLICATION = "documents://application/{+application_ref}{?document_type,from_document}"
DOCUMENT = "documents://document/{document_id}{?from_chunk}"
PAGE = "documents://document/{document_id}/page/{number}{?chunk}"
POLICY_TOOLS = {
    *("search_policy", "get_policy_section", "list_policy_documents", "list_policy_revisions"),
}


@dataclass(frozen=True)
class Stock:
    """An application of a session's own, and its documents: a transport assessment, a letter."""

    session: Session
    ref: str
    assessment: str
    letter: str


@pytest.fixture(scope="module", params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """The protocol that a client speaks: the newest, or the one before 2026."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def session(mode: str, server: LocalServer) -> Iterator[Session]:
    with server.session(mode) as session:
        yield session


@pytest.fixture(scope="module")
def stock(session: Session, mode: str, files: Path) -> Stock:
    ref = f"26/00117/{mode}"
    pages = [f"Page {number}.\n{PROSE}" for number in range(1, 5)]
    assessment = text_pdf(files / f"{mode} Transport Assessment.pdf", *pages)
    letter = text_pdf(files / f"{mode} Letter.pdf", "Dear Sir, I object to the trees.")
    return Stock(
        session,
        ref,
        ingest_well(session, assessment, ref)["document_id"],
        ingest_well(session, letter, ref)["document_id"],
    )


def test_what_can_be_read_is_listed_and_explained(stock: Stock) -> None:
    assert templates(stock.session) == [APPLICATION, DOCUMENT, PAGE]
    first, *listed = addresses(stock.session)
    assert first == APPLICATIONS
    for document_id in (stock.assessment, stock.letter):
        assert f"documents://document/{document_id}" in listed
        assert read(stock.session, f"documents://document/{document_id}")


def test_the_applications_are_counted(stock: Stock) -> None:
    answer = read_json(stock.session, APPLICATIONS)
    assert {"application_ref": stock.ref, "document_count": 2} in answer["applications"]
    assert answer["application_count"] == len(answer["applications"])
    assert answer["truncated"] is False


@pytest.mark.parametrize("safe", ["", "/"], ids=["encoded", "with slashes"])
def test_an_application_is_listed_as_its_tool_lists_it(stock: Stock, safe: str) -> None:
    address = f"documents://application/{quote(stock.ref, safe=safe)}"
    answer = read_json(stock.session, address)
    assert answer == stock.session.call("list_ingested_documents", application_ref=stock.ref)
    assert len(answer["documents"]) == 2


def test_an_application_is_narrowed_to_a_type_and_begun_anywhere(stock: Stock) -> None:
    address = f"documents://application/{quote(stock.ref, safe='')}"
    of_type = read_json(stock.session, f"{address}?document_type=transport_assessment")
    assert [one["document_id"] for one in of_type["documents"]] == [stock.assessment]
    rest = read_json(stock.session, f"{address}?from_document=1")
    assert rest["documents"] == list_documents(stock.session, stock.ref)[1:]
    assert rest["document_count"] == 2


def test_a_document_is_its_text_with_each_character_once(stock: Stock) -> None:
    text = read(stock.session, f"documents://document/{stock.assessment}")
    assert text == read_text(stock.session, stock.assessment, without_overlap=True)
    assert "Page 4." in text
    end = read(stock.session, f"documents://document/{stock.assessment}?from_chunk=1")
    assert text.endswith(end)
    assert 0 < len(end) < len(text)


@pytest.mark.parametrize("ref", ["/etc/passwd", "../up", "C:\\plans", "50% ü?#&,;=+%41 図面"])
def test_a_reference_may_look_like_anything(stock: Stock, files: Path, ref: str) -> None:
    file = text_pdf(files / "Note.pdf", "A note about the trees.")
    stock.session.call("ingest_document", file_path=str(file), application_ref=ref)
    answer = read_json(stock.session, f"documents://application/{quote(ref, safe='')}")
    assert answer["application_ref"] == ref
    assert ref in complete(stock.session, APPLICATION, "application_ref", ref)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("documents://document/nothing_123456", "list_ingested_documents has the ids"),
        ("documents://document/{letter}?from_chunk=9", "has 1 chunks"),
        ("documents://document/{letter}?from_chunk=-1", "from_chunk: .* greater than or equal"),
        ("documents://document/{letter}?from_chunk=two", "from_chunk: .* valid integer"),
        ("documents://application/99%2F1", "There is no document of 99/1. documents://appl"),
        ("documents://application/{ref}?document_type=poem", "There is no poem of "),
        ("documents://application/{ref}?document_type=ecology_report", "no ecology_report of"),
        ("documents://application/%20", "application_ref is empty"),
        ("documents://nothing", r"Unknown resource: .* documents://document/\{document_id\}"),
        ("file:///etc/passwd", "Unknown resource: .* There are: documents://applications"),
    ],
)
def test_a_resource_that_is_not_there_says_what_to_do(
    stock: Stock, address: str, words: str
) -> None:
    filled = address.replace("{letter}", stock.letter).replace("{ref}", quote(stock.ref, safe=""))
    message = refused(stock.session, filled)
    assert re.search(words, message), message


def test_names_complete(stock: Stock, mode: str) -> None:
    session = stock.session
    assert stock.ref in complete(session, APPLICATION, "application_ref")
    assert complete(session, APPLICATION, "application_ref", f"26/00117/{mode}") == [stock.ref]
    assert complete(session, APPLICATION, "application_ref", f"117/{mode}") == [stock.ref]
    assert complete(session, "review_application", "application_ref", stock.ref) == [stock.ref]
    assert complete(session, DOCUMENT, "document_id", stock.letter.upper()) == [stock.letter]
    assert complete(session, APPLICATION, "document_type") == DOCUMENT_TYPES
    plans = complete(session, APPLICATION, "document_type", "plan")
    assert plans == ["planning_statement", "site_plan", "floor_plan"]
    assert complete(session, APPLICATION, "from_document") == []
    assert complete(session, "review_application", "validation_date") == []


def test_the_prompt_leads_through_a_review_with_the_tools_of_both_servers(stock: Stock) -> None:
    assert prompts(stock.session) == {
        "review_application": {"application_ref": True, "validation_date": True}
    }
    text = fill(
        stock.session,
        "review_application",
        application_ref=f" {stock.ref} ",
        validation_date="2025-03-01",
    )
    assert f"application {stock.ref} against" in text
    assert 'effective_date="2025-03-01"' in text
    named = set(stock.session.tools) - {"ingest_document"} | POLICY_TOOLS
    assert not [tool for tool in named if f"`{tool}" not in text]
    assert "If the tools of the Policy KB are not there" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"application_ref": "26/1", "validation_date": "1 March"}, "YYYY-MM-DD"),
        ({"application_ref": "26/1", "validation_date": "2025-02-30"}, "has 28 days"),
        ({"application_ref": " ", "validation_date": "2025-03-01"}, "application_ref is empty"),
        ({"application_ref": "26/1"}, "validation_date"),
    ],
)
def test_a_prompt_with_a_wrong_argument_says_so(
    session: Session, arguments: dict[str, str], words: str
) -> None:
    assert words in unfilled(session, "review_application", **arguments)


def test_an_unknown_prompt_names_those_that_there_are(session: Session) -> None:
    assert "The prompts are: review_application." in unfilled(session, "write_a_poem")


def test_a_tool_says_that_it_begins_and_that_it_has_ended(stock: Stock) -> None:
    both = [(0, 1), (1, 1)]
    assert steps(stock.session, "search_application_docs", query="trees") == both
    assert steps(stock.session, "get_document_text", document_id=stock.letter) == both
    # One that is refused has only begun, and one that is called wrongly has not.
    assert steps(stock.session, "get_document_text", document_id="nothing") == both[:1]
    assert steps(stock.session, "get_document_text", nothing="at all") == []
