"""The library as resources, the prompt, how names complete, and progress, in both protocols."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.types import BlobResourceContents

from tests.contract.doclibrary.asking import find, say, show
from tests.contract.doclibrary.documents import PLAN_CAPTION, SURVEY, letter
from tests.contract.local import LocalServer
from tests.contract.resources import (
    complete,
    fill,
    prompts,
    read,
    refused,
    steps,
    templates,
)
from tests.contract.session import Session


@pytest.fixture(scope="module", params=["auto", "legacy"])
def session(request: pytest.FixtureRequest, server: LocalServer) -> Iterator[Session]:
    """The protocol that a client speaks: the newest, or the one before 2026."""
    with server.session(request.param, command=True) as session:
        yield session


def test_the_example_of_the_contract_and_all_ten_tools_work(session: Session) -> None:
    [found] = find(session, "plan of the nine streets", element_type="figure", limit=1)
    element = {"document_slug": found["document_slug"], "element_label": found["element_label"]}
    assert element == {"document_slug": SURVEY, "element_label": "Figure 8-1"}
    assert PLAN_CAPTION in show(session, "get_element_image", **element).text
    assert PLAN_CAPTION in say(session, "get_element_details", **element)
    page = {"document_slug": SURVEY, "page_number": found["page_number"]}
    assert show(session, "get_page_image", **page).text.startswith("Page 1 of 3\nDocument: ")
    assert find(session, "owners were asked by letter", limit=1)
    assert session.call("get_document_info", document_slug=SURVEY)["total_pages"] == 3
    assert session.call("find_document", query="nine")["results"][0]["slug"] == SURVEY
    assert f"({SURVEY})" in say(session, "list_documents")
    assert session.call("list_documents_paginated")["pagination"]["total_documents"] == 2
    assert "OK" in say(session, "get_library_status")


def test_resources_are_read_and_their_names_complete(session: Session) -> None:
    assert "get_element_image" in read(session, "tour://library", "text/markdown")
    element = "library://{slug}/element/{label}"
    assert templates(session) == ["library://{slug}/page/{number}{?chunk}", element]
    [picture] = session.do(
        session.client.read_resource, f"library://{SURVEY}/element/Figure%208-1"
    ).contents
    assert isinstance(picture, BlobResourceContents)
    assert complete(session, element, "slug", "surv") == [SURVEY]
    assert complete(session, element, "label", "figure 8", slug=SURVEY) == ["Figure 8-1"]
    assert "Document has 3 pages" in refused(session, f"library://{SURVEY}/page/4")


def test_the_prompt_is_offered_and_filled_in(session: Session) -> None:
    assert prompts(session) == {"show_me": {"wanted": True}}
    assert fill(session, "show_me", wanted="a plan").endswith("Wanted: a plan")


def test_a_tool_says_that_it_begins_and_that_it_has_ended(session: Session) -> None:
    page = {"document_slug": SURVEY, "page_number": 3}
    assert steps(session, "get_page_image", **page) == [(0, 1), (1, 1)]
    assert steps(session, "search_documents", query="streets") == [(0, 1), (1, 1)]


def test_progress_is_reported_for_each_page_twice(session: Session, tmp_path: Path) -> None:
    file = letter(tmp_path / "letter.pdf", "Dear all, how are you?", "Yours sincerely, Ada")
    job = session.start("add_document", file_path=str(file))
    slug = job.result()["document"]["slug"]
    assert [done for done, *_ in job.progress] == [1, 2, 3, 4]
    assert {total for _, total, _ in job.progress} == {4}
    messages = [message or "" for *_, message in job.progress]
    assert all("of 2" in message for message in messages)
    assert session.call("remove_document", document_slug=slug)["slug"] == slug
