"""The list of results in the MCP App: what a person reads before any page is opened."""

import pytest
from playwright.sync_api import expect

from tests.browser.canned import QUERY, TEXT, as_result, chunk, figure, found, show_page
from tests.browser.conftest import NewPage
from tests.browser.host import Answer, HostPage

HOSTILE = (
    '<img src="http://outside.test/x.png" onerror="window.hacked=1"><script>window.hacked=1'
    "</script><svg onload=window.hacked=1><style>*{display:none}</style>"
    '<a href="javascript:window.hacked=1">x</a>${window.hacked=1}</p></main>'
)


def open_app(new_page: NewPage, result: Answer, **arguments: object) -> HostPage:
    host = HostPage(new_page(), lambda _, args: show_page(args)).open()
    return host.show(result, **arguments)


def read(host: HostPage, selector: str) -> list[str]:
    expect(host.app.locator("#heading")).not_to_have_text("Search results")
    return [" ".join(text.split()) for text in host.app.locator(selector).all_inner_texts()]


def test_a_result_names_its_document_file_page_and_score(new_page: NewPage) -> None:
    host = open_app(new_page, found(chunk(1), chunk(2)))
    assert read(host, "#heading") == [f"2 passages for “{QUERY}”"]
    assert read(host, ".card .place") == ["Report_1.pdf · page 3", "Report_2.pdf · page 3"]
    [first, second] = read(host, ".card .head")
    assert (first[:8], first[-4:], second[-4:]) == ("Report 1", "0.80", "0.70")


def test_words_of_the_query_are_marked_in_the_passage(new_page: NewPage) -> None:
    host = open_app(new_page, found(chunk(1)))
    assert read(host, ".passage") == [" ".join(TEXT.split())]
    assert read(host, ".passage mark") == ["Cycle", "parking"]


def test_words_that_the_server_matched_are_marked_instead(new_page: NewPage) -> None:
    words = ["space", "200 covered"]
    host = open_app(new_page, found(chunk(1, match={"score": 1, "words": words})))
    assert read(host, ".passage mark") == ["200 covered", "spaces"]


@pytest.mark.parametrize(
    ("title", "shown"),
    [("Flood_Risk_Assessment", "Flood Risk Assessment"), ("An a_b of 2.5", "An a_b of 2.5")],
)
def test_a_title_that_is_a_file_name_has_spaces(new_page: NewPage, title: str, shown: str) -> None:
    host = open_app(new_page, found(chunk(1, title=title)))
    assert read(host, ".title") == [shown]


def test_the_score_is_the_one_by_which_results_are_sorted(new_page: NewPage) -> None:
    matches: list[Answer] = [{"score": score, "words": []} for score in (12.5, 3)]
    host = open_app(new_page, found(*(chunk(1, match=match) for match in matches)))
    [first, second] = read(host, ".card .score")
    assert (first[-5:], second[-4:]) == ("12.50", "3.00")
    assert host.app.locator(".meter i").evaluate_all("all => all.map(one => one.style.width)") == [
        "100%",
        "24%",
    ]


def test_a_long_passage_is_shown_from_where_it_matches(new_page: NewPage) -> None:
    host = open_app(new_page, found(chunk(1, "Other words. " * 60 + "Cycle parking is here.")))
    [passage] = read(host, ".passage")
    assert passage.startswith("… ")
    assert passage.endswith("Cycle parking is here.")
    assert len(passage) < 120


def test_more_results_are_shown_on_request(new_page: NewPage) -> None:
    host = open_app(new_page, found(*map(chunk, range(8))))
    assert len(read(host, ".card")) == 5
    host.app.get_by_role("button", name="Show 3 more results").click()
    assert len(read(host, ".card")) == 8
    expect(host.app.locator("[data-hit='5']")).to_be_focused()
    expect(host.app.locator("#more")).to_be_hidden()


def test_several_queries_have_their_own_results(new_page: NewPage) -> None:
    more = [{"query": "drainage", "results": [chunk(2, "Drainage is sustainable.")]}]
    host = open_app(new_page, found(chunk(1), more=more))
    assert read(host, "#heading") == ["2 passages"]
    assert read(host, ".group-name") == [f"“{QUERY}”", "“drainage”"]
    assert read(host, ".passage mark") == ["Cycle", "parking", "Drainage"]


def test_a_section_is_shown_whole_with_its_page(new_page: NewPage) -> None:
    section = {
        "status": "success",
        "source": "NPPF",
        "section_ref": "Para 116",
        "version_label": "December 2024",
        "text": TEXT,
        "page_numbers": [3, 4],
        "evidence": chunk(1)["evidence"],
    }
    host = open_app(new_page, as_result(section))
    assert read(host, "#heading") == ["Para 116"]
    assert read(host, ".place") == ["NPPF · December 2024 · pages 3–4"]
    assert host.app.locator(".passage").inner_text() == TEXT
    host.app.get_by_role("button", name="Show page 3").click()
    expect(host.app.locator(".box")).to_have_count(3)


def test_a_result_without_a_page_cannot_be_opened(new_page: NewPage) -> None:
    data = {
        "results": [
            {
                "chunk_id": "1",
                "content": "Cycle stands.",
                "score": 0.5,
                "metadata": {"source_file": "/notes/a_note.md", "header_path": "Site > Cycles"},
            }
        ]
    }
    host = open_app(new_page, as_result({"success": True, "data": data}), query="cycle")
    assert read(host, ".place") == ["a_note.md · Site > Cycles"]
    assert read(host, "mark") == ["Cycle"]
    assert host.app.locator("#results button").count() == 0


def test_figures_are_a_gallery_of_what_is_in_their_boxes(new_page: NewPage) -> None:
    box = (0.2, 0.106, 0.8, 0.114)  # in a black bar of the page
    host = HostPage(new_page(), lambda _, args: show_page(args, [box])).open()
    host.show(found(figure(1, box), chunk(2)))
    assert read(host, ".group-name") == ["Figures, tables and equations", "Passages"]
    canvas = host.app.locator(".gallery canvas")
    canvas.wait_for()
    colours = canvas.evaluate(
        "one => [...new Set(one.getContext('2d').getImageData(0, 0, one.width, one.height).data)]"
    )
    assert sorted(colours) == [0, 255]  # black, opaque
    assert host.calls == [("show_evidence", {"chunk_id": "figure_1"})]


def test_hidden_text_has_a_badge(new_page: NewPage) -> None:
    host = open_app(new_page, found(chunk(1, hidden_text=True), chunk(2)))
    assert read(host, ".badge") == ["Hidden text on the page"]


def test_remarks_of_the_server_are_shown(new_page: NewPage) -> None:
    host = open_app(new_page, found(chunk(1), truncated=True, warning="Unknown type 'x'."))
    assert read(host, "#remarks") == ["Unknown type 'x'. There are more results than these."]


def test_no_result_says_what_was_searched_and_what_to_do(new_page: NewPage) -> None:
    host = open_app(new_page, found(hint="There are: 26/00001/FUL."))
    assert read(host, "#heading") == [f"Nothing found for “{QUERY}”"]
    assert read(host, ".message") == ["There are: 26/00001/FUL."]


@pytest.mark.parametrize(
    "result",
    [
        as_result({"status": "error", "error_type": "x", "message": "The disk is full."}),
        as_result({"success": False, "data": None, "error": "The disk is full."}),
        as_result({"error": "Error: The disk is full."}),
        {"content": [{"type": "text", "text": "The disk is full."}], "isError": True},
    ],
)
def test_an_error_of_the_tool_is_shown(new_page: NewPage, result: Answer) -> None:
    host = open_app(new_page, result)
    assert read(host, "#heading") == ["The search failed"]
    assert read(host, ".message") == ["The disk is full."]


def test_a_cancelled_search_says_so(new_page: NewPage) -> None:
    host = HostPage(new_page(), lambda _, args: show_page(args)).open()
    host.send("sendToolInput", {"arguments": {"query": "x"}})
    expect(host.app.locator("#heading")).to_have_text("Searching for “x”")
    host.send("sendToolCancelled", {"reason": "The user stopped it."})
    expect(host.app.locator("#heading")).to_have_text("The search was cancelled")


def test_markup_and_scripts_in_documents_are_text(new_page: NewPage) -> None:
    hostile = chunk(1, HOSTILE, HOSTILE, section_ref=HOSTILE)
    hostile["metadata"]["source_file"] = HOSTILE
    host = open_app(new_page, found(hostile, figure(1, (0, 0, 1, 1), element_label=HOSTILE)))
    assert HOSTILE in host.app.locator(".card .title").first.inner_text()
    host.app.locator(".card .title").first.click()
    expect(host.app.locator("#document")).to_have_text(HOSTILE)
    expect(host.app.locator("#image")).to_be_visible()
    host.app.get_by_role("button", name="Results", exact=True).click()
    host.show(found(query=HOSTILE, hint=HOSTILE))
    expect(host.app.locator(".message")).to_have_text(HOSTILE)
    for frame in host.page.frames:
        assert frame.evaluate("typeof window.hacked") == "undefined"
    assert host.blocked == []


def test_the_page_cannot_make_markup_of_a_string(new_page: NewPage) -> None:
    host = open_app(new_page, found(chunk(1)))
    refused = host.page.frames[-1].evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; } catch (e) { return e.name; } }"
    )
    assert refused == "TypeError"


def test_a_new_result_replaces_an_open_page(new_page: NewPage) -> None:
    host = open_app(new_page, found(chunk(1)))
    host.app.locator(".title").click()
    host.show(found(chunk(2)))
    expect(host.app.locator("#viewer")).to_be_hidden()
    assert read(host, ".title") == ["Report 2"]
