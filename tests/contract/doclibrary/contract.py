"""The promises of doclibrary."""

from pathlib import Path

from tests.contract.contracts import Contract
from tests.contract.doclibrary.asking import (
    COUNT_KEYS,
    DOCUMENT_KEYS,
    PAGINATION_KEYS,
    RESULT_KEYS,
    add,
    failed,
    find,
    message_of,
    remove,
    say,
    show,
)
from tests.contract.doclibrary.documents import PLAN_CAPTION, survey
from tests.contract.process import Home, run_command
from tests.contract.session import Session
from tests.contract.tools import NOTHING

SHOWING = {"get_element_image", "get_page_image"}
"""Their answers are content of MCP and have no data."""
FLAGGED = {"hidden_text"}
"""An addition that is left out where nothing is hidden."""


def converse(session: Session, home: Home, folder: Path) -> None:
    """Use all ten tools on a document that a command of quinion adds and removes."""
    with run_command(home, "doclibrary") as command:
        slug = add(command, survey(folder / "survey.pdf"))["slug"]
    [found] = find(session, "plan of the nine streets", element_type="figure", limit=1)
    element = {"document_slug": found["document_slug"], "element_label": found["element_label"]}
    assert element == {"document_slug": slug, "element_label": "Figure 8-1"}
    assert PLAN_CAPTION in show(session, "get_element_image", **element).text
    assert PLAN_CAPTION in say(session, "get_element_details", **element)
    page = {"document_slug": slug, "page_number": found["page_number"]}
    assert show(session, "get_page_image", **page).text.startswith("Page 1 of 3\nDocument: ")
    assert find(session, "owners were asked by letter", limit=1)
    assert session.call("get_document_info", document_slug=slug)["total_pages"] == 3
    assert session.call("find_document", query="nine")["results"][0]["slug"] == slug
    assert f"({slug})" in say(session, "list_documents")
    assert session.call("list_documents_paginated")["pagination"]["total_documents"] == 1
    assert "OK" in say(session, "get_library_status")
    message = failed(session, "get_page_image", document_slug="xyz", page_number=1)
    assert message == "Document 'xyz' not found."
    with run_command(home, "doclibrary") as command:
        remove(command, slug)


CONTRACT = Contract(
    name="doclibrary",
    calls_itself="doclibrary",
    port=3005,
    reading={
        "search_documents",
        "search_visual_elements",
        "get_element_image",
        "get_element_details",
        "get_page_image",
        "get_document_info",
        "find_document",
        "list_documents",
        "list_documents_paginated",
        "get_library_status",
    },
    without_data=SHOWING,
    of_commands={"add_document", "enrich_document", "list_elements", "remove_document", "verify"},
    parameters=[
        ("search_documents", "query", {"string"}, True, NOTHING),
        ("search_documents", "limit", {"integer"}, False, 10),
        ("search_documents", "document_slug", {"string", "null"}, False, None),
        ("search_documents", "mode", {"string", "null"}, False, None),
        ("search_documents", "images", {"integer"}, False, 0),
        ("search_documents", "merge", {"boolean"}, False, False),
        ("search_visual_elements", "query", {"string"}, True, NOTHING),
        ("search_visual_elements", "element_type", {"string", "null"}, False, None),
        ("search_visual_elements", "limit", {"integer"}, False, 10),
        ("search_visual_elements", "document_slug", {"string", "null"}, False, None),
        ("search_visual_elements", "mode", {"string", "null"}, False, None),
        ("search_visual_elements", "images", {"integer"}, False, 0),
        ("get_element_image", "document_slug", {"string"}, True, NOTHING),
        ("get_element_image", "element_label", {"string"}, True, NOTHING),
        ("get_element_image", "page_number", {"integer", "null"}, False, None),
        ("get_element_details", "document_slug", {"string"}, True, NOTHING),
        ("get_element_details", "element_label", {"string"}, True, NOTHING),
        ("get_element_details", "page_number", {"integer", "null"}, False, None),
        ("get_page_image", "document_slug", {"string"}, True, NOTHING),
        ("get_page_image", "page_number", {"integer"}, True, NOTHING),
        ("get_document_info", "document_slug", {"string"}, True, NOTHING),
        ("find_document", "query", {"string"}, True, NOTHING),
        ("find_document", "limit", {"integer"}, False, 5),
        ("list_documents_paginated", "page", {"integer"}, False, 1),
        ("list_documents_paginated", "page_size", {"integer"}, False, 20),
        ("list_documents_paginated", "sort_by", {"string"}, False, "title"),
    ],
    parts=[
        ("search_documents", "Found", {"query", "results", "truncated"}),
        ("search_documents", "Result", {*RESULT_KEYS, *FLAGGED, "match", "merged", "evidence"}),
        (
            "search_visual_elements",
            "Result",
            {*RESULT_KEYS, *FLAGGED, "match", "merged", "evidence"},
        ),
        ("get_document_info", "Listed", DOCUMENT_KEYS),
        ("get_document_info", "ElementCounts", COUNT_KEYS),
        ("find_document", "Matches", {"results", "total_count"}),
        ("list_documents_paginated", "ListedPage", {"documents", "pagination"}),
        ("list_documents_paginated", "Pagination", PAGINATION_KEYS),
        ("get_library_status", "Failed", {"error"}),
    ],
    refusal=message_of,
    wrong_arguments=[
        ("search_documents", {}, "query"),
        ("search_documents", {"query": 5}, "query"),
        ("search_documents", {"query": "x", "element_type": "table"}, "element_type"),
        ("get_element_image", {"document_slug": "survey"}, "element_label"),
        (
            "get_element_details",
            {"document_slug": "survey", "element_label": None},
            "element_label",
        ),
        ("get_page_image", {"document_slug": "survey"}, "page_number"),
        ("get_page_image", {"document_slug": "survey", "page_number": "first"}, "page_number"),
        ("get_page_image", {"document_slug": "survey", "page_number": 1.5}, "page_number"),
        ("get_document_info", {"slug": "survey"}, "slug"),
        ("list_documents", {"verbose": True}, "verbose"),
    ],
    bad_settings=[("DOCLIBRARY_PORT", "99999")],
    converse=converse,
)
