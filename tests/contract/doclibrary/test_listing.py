"""What there is in the library: lists, names, counts, and whether all is well."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.contract.conftest import NewHome
from tests.contract.doclibrary.asking import (
    COUNT_KEYS,
    DOCUMENT_KEYS,
    PAGINATION_KEYS,
    failed,
    find,
    reply,
    say,
    text_of,
)
from tests.contract.doclibrary.documents import (
    APPENDICES,
    APPENDICES_TITLE,
    SURVEY,
    SURVEY_TITLE,
)
from tests.contract.local import LocalServer, Serve
from tests.contract.session import Session


@pytest.fixture(scope="module")
def empty(new_home: NewHome, serve: Serve) -> Iterator[Session]:
    """A session with a library in which there is nothing."""
    with serve(new_home()) as server, server.session() as session:
        yield session


def pagination(total_pages: int, total_documents: int) -> dict[str, int]:
    """What is said on the first page."""
    totals = {"total_pages": total_pages, "total_documents": total_documents}
    return {"page": 1, "page_size": 20, **totals}


def test_a_document_tells_its_title_pages_keywords_and_counts(session: Session) -> None:
    answer = session.call("get_document_info", document_slug=SURVEY)
    assert set(answer) == DOCUMENT_KEYS
    added = datetime.fromisoformat(answer.pop("date_added"))
    assert timedelta(0) <= datetime.now(UTC) - added < timedelta(hours=1)
    assert answer == {
        "slug": SURVEY,
        "title": SURVEY_TITLE,
        "source_file": "survey.pdf",
        "total_pages": 3,
        "keywords": ["housing", "damp", "streets"],
        "indexed_elements": dict.fromkeys(COUNT_KEYS, 1),
    }


def test_a_title_comes_from_the_first_page_where_the_file_has_none(session: Session) -> None:
    answer = session.call("get_document_info", document_slug=APPENDICES)
    assert (answer["title"], answer["keywords"]) == (APPENDICES_TITLE, [])
    assert answer["indexed_elements"] == {**dict.fromkeys(COUNT_KEYS, 0), "figures": 2}


@pytest.mark.parametrize(
    ("query", "slugs"),
    [
        ("surv", [APPENDICES, SURVEY]),
        ("nine", [SURVEY]),
        ("STREETS survey", [SURVEY]),
        ("Appendices.pdf", [APPENDICES]),
        ("append", [APPENDICES]),
        ("snyder", []),
        ("nine appendices", []),
    ],
)
def test_documents_are_found_by_parts_of_slug_title_and_file_name(
    session: Session, query: str, slugs: list[str]
) -> None:
    answer = session.call("find_document", query=query)
    assert [document["slug"] for document in answer["results"]] == slugs
    assert answer["total_count"] == len(slugs)
    assert all(set(document) == DOCUMENT_KEYS for document in answer["results"])


def test_the_number_of_matches_is_limited_and_all_are_counted(session: Session) -> None:
    answer = session.call("find_document", query="survey", limit=1)
    assert (len(answer["results"]), answer["total_count"]) == (1, 2)


def test_all_documents_are_listed_with_slugs_and_page_counts(session: Session) -> None:
    assert say(session, "list_documents") == (
        "Available documents:\n"
        f"\n## {APPENDICES_TITLE} ({APPENDICES})\n   Pages: 2\n"
        f"\n## {SURVEY_TITLE} ({SURVEY})\n   Pages: 3"
    )


@pytest.mark.parametrize(
    ("key", "slugs"),
    [
        ("title", [APPENDICES, SURVEY]),
        # The newest and the longest first.
        ("date_added", [APPENDICES, SURVEY]),
        ("page_count", [SURVEY, APPENDICES]),
    ],
)
def test_documents_are_sorted_and_come_in_parts(
    session: Session, key: str, slugs: list[str]
) -> None:
    whole = session.call("list_documents_paginated", sort_by=key)
    assert [document["slug"] for document in whole["documents"]] == slugs
    assert whole["pagination"] == pagination(1, 2)
    for number, slug in enumerate([[slugs[0]], [slugs[1]], []], 1):
        part = session.call("list_documents_paginated", sort_by=key, page=number, page_size=1)
        assert [document["slug"] for document in part["documents"]] == slug
        assert set(part["pagination"]) == PAGINATION_KEYS
        assert (part["pagination"]["page"], part["pagination"]["total_pages"]) == (number, 2)


def test_the_answers_that_the_contract_wants_in_json_are_json(session: Session) -> None:
    for tool, arguments in (
        ("get_document_info", {"document_slug": SURVEY}),
        ("find_document", {"query": "survey"}),
        ("list_documents_paginated", {}),
    ):
        result = reply(session, tool, **arguments)
        assert json.loads(text_of(result)) == result.structured_content


def test_the_status_names_model_database_and_configuration(
    session: Session, server: LocalServer
) -> None:
    head, status = say(session, "get_library_status").split("\n\n")
    assert head == "Document Library Status"
    embedding, database, config = status.split("\n")
    assert embedding.startswith("Embedding server: OK (")
    assert database == "Database: OK (2 documents)"
    assert config == f"Config source: environment variables; home {server.home.path}"


def test_an_empty_library_is_no_error(empty: Session) -> None:
    assert say(empty, "list_documents").startswith("No documents found in the library.")
    assert "quinion library add" in say(empty, "list_documents")
    assert say(empty, "search_documents", query="x") == "No results found for query: x"
    assert say(empty, "search_visual_elements", query="x") == (
        "No visual elements found for query: x"
    )
    assert find(empty, "x") == []
    assert empty.call("find_document", query="x") == {"results": [], "total_count": 0}
    assert empty.call("list_documents_paginated") == {
        "documents": [],
        "pagination": pagination(0, 0),
    }
    assert "Database: OK (0 documents)" in say(empty, "get_library_status")
    assert failed(empty, "get_document_info", document_slug="x") == "Document 'x' not found."


def test_a_list_refuses_wrong_arguments(session: Session) -> None:
    tool = "list_documents_paginated"
    assert failed(session, tool, sort_by="author") == (
        "Unknown sort key 'author'. The keys are: title, date_added, page_count."
    )
    for arguments in ({"page": 0}, {"page": -1}, {"page_size": 0}):
        [name] = arguments
        assert name in failed(session, tool, **arguments)
    for limit in (0, -1):
        assert "limit" in failed(session, "find_document", query="x", limit=limit)
    assert "The query is empty" in failed(session, "find_document", query=" ")
    message = failed(session, "get_document_info", document_slug="Survey")
    assert message == "Document 'Survey' not found. Did you mean: survey?"
