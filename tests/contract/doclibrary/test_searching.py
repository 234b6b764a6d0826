"""Search: what is found, how it is said, and that it is enough for the next call."""

import re
from pathlib import Path

import pytest

from quinion.servers.doclibrary import tools
from tests.contract.doclibrary.asking import (
    add,
    failed,
    find,
    labels_of,
    remove,
    reply,
    say,
    show,
    text_of,
)
from tests.contract.doclibrary.documents import (
    APPENDICES,
    GRID_CAPTIONS,
    PLAN_CAPTION,
    SURVEY,
    SURVEY_ELEMENTS,
    TABLE_CAPTION,
    grids,
)
from tests.contract.session import Session

RESULT = re.compile(
    r"\[(?P<place>\d+)\] (?:(?P<type>[A-Z]+): (?P<label>.+)|TEXT CHUNK)\n"
    r"  Document: (?P<slug>.+)\n"
    r"  Page: (?P<page>\d+)\n"
    r"  Score: (?P<score>\d+\.\d)%\n"
    r"  Content: (?P<content>.+)"
)
HOUSES = "houses, damp and heating in the streets"


def test_a_result_is_written_as_the_contract_shows_it(session: Session) -> None:
    text = say(session, "search_visual_elements", query=HOUSES, limit=1)
    head, result = text.split("\n\n")
    assert head == f"Found 1 visual elements for: {HOUSES}"
    lines = result.split("\n")
    assert lines[:3] == ["[1] TABLE: Table 5", "  Document: survey", "  Page: 2"]
    assert RESULT.fullmatch(result)
    assert lines[4].startswith(f"  Content: {TABLE_CAPTION}")


def test_all_content_is_searched_and_each_result_says_where_it_is(session: Session) -> None:
    result = reply(session, "search_documents", query="owners asked about damp and heating")
    head, *words = text_of(result).split("\n\n")
    assert head == "Found 10 results for: owners asked about damp and heating"
    found = [RESULT.fullmatch(one) for one in words]
    assert [one and one["place"] for one in found] == [str(n + 1) for n in range(10)]
    assert result.structured_content is not None
    data = result.structured_content["results"]
    assert {"text"} < {one["type"] for one in data}
    for one, said in zip(data, found, strict=True):
        assert said is not None
        assert (said["slug"], said["page"]) == (one["document_slug"], str(one["page_number"]))
        assert said["label"] == one["element_label"]
        assert said["content"] == one["content"]


def test_a_result_has_what_the_next_call_needs(session: Session) -> None:
    [found] = find(session, "plan of the streets and yards", element_type=None, limit=1)
    shown = show(
        session,
        "get_element_image",
        document_slug=found["document_slug"],
        element_label=found["element_label"],
    )
    assert shown.text.startswith("FIGURE: Figure 8-1\n")
    assert PLAN_CAPTION in shown.text


@pytest.mark.parametrize(("label", "kind_and_page"), SURVEY_ELEMENTS.items())
def test_a_type_narrows_the_search(
    session: Session, label: str, kind_and_page: tuple[str, int]
) -> None:
    kind, page = kind_and_page
    options = {"element_type": kind.upper(), "document_slug": SURVEY}
    [found] = find(session, "anything", **options)
    assert (found["type"], found["element_label"], found["page_number"]) == (kind, label, page)


def test_visual_elements_are_all_that_a_search_for_them_finds(session: Session) -> None:
    found = find(session, "survey", element_type=None, limit=50)
    assert sorted(labels_of(found)) == sorted([*SURVEY_ELEMENTS, "Figure 1", "Figure 1"])


@pytest.mark.parametrize("slug", [SURVEY, APPENDICES])
@pytest.mark.parametrize("visual", [False, True])
def test_a_slug_narrows_the_search(session: Session, slug: str, visual: bool) -> None:
    options = {"element_type": None} if visual else {}
    found = find(session, "ground plan of a house", document_slug=slug, limit=50, **options)
    assert found
    assert {one["document_slug"] for one in found} == {slug}


def test_the_best_comes_first_and_the_limit_is_kept(session: Session) -> None:
    found = find(session, "drains below a yard", element_type=None, limit=3)
    assert labels_of(found)[0] == "Figure 9-1"
    assert len(found) == 3
    assert found == find(session, "drains below a yard", element_type=None)[:3]


def test_a_long_passage_is_shortened(session: Session) -> None:
    for one in find(session, "survey of houses", limit=50):
        assert len(one["content"]) <= 303
        assert "\n" not in one["content"]


def test_nothing_found_is_said_and_no_error(session: Session) -> None:
    options = {"query": "rain", "document_slug": APPENDICES, "element_type": "chart"}
    text = say(session, "search_visual_elements", **options)
    assert text == "No visual elements of type 'chart' found for query: rain"


@pytest.mark.parametrize("tool", ["search_documents", "search_visual_elements"])
def test_more_than_the_maximum_is_answered_with_the_maximum_and_said(
    session: Session, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    monkeypatch.setattr(tools, "MAX_RESULTS", 2)
    more = "There are more, but one answer has no more results than these."
    answer = reply(session, tool, query="survey", limit=1_000)
    assert answer.structured_content is not None
    assert len(answer.structured_content["results"]) == 2
    assert answer.structured_content["truncated"] is True
    assert more in text_of(answer)
    assert more not in say(session, tool, query="survey", limit=2)


def test_a_part_of_the_list_has_at_most_a_hundred_documents(session: Session) -> None:
    answer = session.call("list_documents_paginated", page_size=1_000)
    assert answer["pagination"]["page_size"] == 100


def test_a_grid_of_cells_is_a_table_whatever_its_caption_says(
    session: Session, tmp_path: Path
) -> None:
    slug = add(session, grids(tmp_path / "grids.pdf"))["slug"]
    try:
        options = {"query": "houses", "document_slug": slug}
        tables = session.call("get_document_info", document_slug=slug)["indexed_elements"]["tables"]
        found = find(session, **options, element_type="table")
        assert tables == len(found) == len(GRID_CAPTIONS)
        assert set(labels_of(found)) == set(GRID_CAPTIONS)
        details = say(
            session, "get_element_details", document_slug=slug, element_label="Schedule 2"
        )
        assert "Type: TABLE" in details
        assert "Mill Lane" in details
        [plan] = find(session, **options, element_type="figure")
        assert plan["element_label"] == "Exhibit 5"
    finally:
        remove(session, slug)


def test_an_unknown_type_is_refused_and_the_types_are_named(session: Session) -> None:
    message = failed(session, "search_visual_elements", query="x", element_type="photo")
    assert message == (
        "Unknown element type 'photo'. The types are: figure, table, equation, diagram, chart."
    )


@pytest.mark.parametrize("tool", ["search_documents", "search_visual_elements"])
def test_a_search_refuses_what_cannot_be_searched(session: Session, tool: str) -> None:
    for query in ("", " \n"):
        assert "The query is empty" in failed(session, tool, query=query)
    for limit in (0, -1):
        assert "limit" in failed(session, tool, query="x", limit=limit)
    message = failed(session, tool, query="x", document_slug="servey")
    assert message == "Document 'servey' not found. Did you mean: survey?"
