"""Elements and pages, shown and told of: by tools, and as resources."""

import base64
from urllib.parse import quote

import pytest
from mcp import MCPError
from mcp.types import (
    BlobResourceContents,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

from tests.contract.doclibrary.asking import failed, open_png, reply, say, show, text_of
from tests.contract.doclibrary.documents import (
    APPENDICES,
    HEADER,
    PLAN_CAPTION,
    SURVEY,
    SURVEY_ELEMENTS,
    SURVEY_PAGES,
    SURVEY_TITLE,
    TABLE_CAPTION,
)
from tests.contract.session import Session
from tests.element_documents import HEIGHT, WIDTH

READABLE_DPI = 150
POINTS_PER_INCH = 72
ELEMENT_TOOLS = ["get_element_image", "get_element_details"]
DAMAGED_LABELS = {
    "Figure 8-1": [
        "figure 8-1",
        "FIGURE 8-1",
        "Fig. 8-1",
        "fig 8-1",
        "Figure  8 - 1",
        " Figure 8–1. ",
        "Figure8-1",
    ],
    "Table 5": ["table 5", "Tab. 5", "TABLE5", "Table 5 (continued)"],
    "(8-3)": ["8-3", "Equation 8-3", "Eq. (8-3)", "eq 8–3"],
}


def element(label: str, slug: str = SURVEY, **more: int) -> dict[str, str | int]:
    return {"document_slug": slug, "element_label": label, **more}


def test_a_page_is_a_text_and_a_png(session: Session) -> None:
    shown = show(session, "get_page_image", document_slug=SURVEY, page_number=1)
    assert shown.text == f"Page 1 of {SURVEY_PAGES}\nDocument: {SURVEY_TITLE} ({SURVEY})"


def test_a_page_is_sharp_enough_to_read(session: Session) -> None:
    image = show(session, "get_page_image", document_slug=SURVEY, page_number=2).image
    width, height = image.size
    assert abs(width / height - WIDTH / HEIGHT) < 0.01
    assert width * POINTS_PER_INCH / WIDTH >= READABLE_DPI
    # The same page again, from the cache or not, is the same picture.
    again = show(session, "get_page_image", document_slug=SURVEY, page_number=2)
    assert again.image == image


@pytest.mark.parametrize(("label", "kind_and_page"), SURVEY_ELEMENTS.items())
def test_an_element_is_a_text_and_a_png(
    session: Session, label: str, kind_and_page: tuple[str, int]
) -> None:
    kind, page = kind_and_page
    shown = show(session, "get_element_image", **element(label))
    assert shown.text.split("\n")[:3] == [
        f"{kind.upper()}: {label}",
        f"Document: {SURVEY_TITLE} ({SURVEY})",
        f"Page: {page}",
    ]
    # Something is on it, on white.
    shades = shown.image.convert("L").histogram()
    assert 0 < sum(shades[:80]) < sum(shades[200:])


def test_an_element_is_cut_out_as_sharp_as_its_page(session: Session) -> None:
    width, height = show(session, "get_element_image", **element("Figure 8-1")).image.size
    # The drawing is 350 by 200 points.
    assert width * POINTS_PER_INCH / 350 >= READABLE_DPI
    assert abs(width / height - 350 / 200) < 0.1


def test_details_of_a_figure(session: Session) -> None:
    text = say(session, "get_element_details", **element("Figure 8-1"))
    head, *parts = text.split("\n\n")
    assert head.split("\n") == [
        "Type: FIGURE",
        "Label: Figure 8-1",
        f"Document: {SURVEY_TITLE} ({SURVEY})",
        "Page: 1",
    ]
    assert parts[0] == f"Description:\n{PLAN_CAPTION}"
    assert parts[1].startswith("Context:\n")
    assert "survey" in parts[1]


def test_details_of_a_table_have_its_rows(session: Session) -> None:
    result = reply(session, "get_element_details", **element("Table 5"))
    assert f"Description:\n{TABLE_CAPTION}" in text_of(result)
    assert f"Table:\n| {' | '.join(HEADER)} |" in text_of(result)
    assert result.structured_content is not None
    assert result.structured_content["table_csv"].splitlines()[0] == ",".join(HEADER)
    assert result.structured_content["box"][2] > result.structured_content["box"][0]


def test_details_of_an_equation_have_its_text(session: Session) -> None:
    text = say(session, "get_element_details", **element("(8-3)"))
    assert text.startswith("Type: EQUATION\nLabel: (8-3)\n")
    assert "mc" in text.partition("Text:\n")[2]


@pytest.mark.parametrize(
    ("label", "written"),
    [(label, written) for label, others in DAMAGED_LABELS.items() for written in others],
)
def test_case_spacing_and_abbreviations_of_a_label_do_not_count(
    session: Session, label: str, written: str
) -> None:
    assert f"\nLabel: {label}\n" in say(session, "get_element_details", **element(written))


@pytest.mark.parametrize("tool", ELEMENT_TOOLS)
def test_a_label_that_several_have_lists_the_choices_and_a_page_chooses(
    session: Session, tool: str
) -> None:
    message = failed(session, tool, **element("fig. 1", APPENDICES))
    assert message == (
        "Several elements of 'appendices' are called 'fig. 1': page 1 (figure); page 2 (figure). "
        "Give page_number to choose one."
    )
    for page, name in ((1, "A"), (2, "B")):
        arguments = element("Figure 1", APPENDICES, page_number=page)
        content = reply(session, tool, **arguments).content[0]
        assert isinstance(content, TextContent)
        assert f"\nPage: {page}\n" in content.text
        assert f"Ground plan of house {name}." in content.text


@pytest.mark.parametrize("tool", ELEMENT_TOOLS)
def test_an_element_that_is_not_there(session: Session, tool: str) -> None:
    message, _, near = failed(session, tool, **element("Figure 8-2")).partition(" Did you mean: ")
    assert message == "Element 'Figure 8-2' not found in document 'survey'."
    assert set(near.rstrip("?").split(", ")) == {"Figure 8-1", "Figure 9-1", "Figure 9-2"}
    assert failed(session, tool, **element("Plate XLIV")) == (
        "Element 'Plate XLIV' not found in document 'survey'."
    )
    assert failed(session, tool, **element("Table 5", page_number=1)) == (
        "Element 'Table 5' not found in document 'survey' on page 1. It is on page 2."
    )
    assert failed(session, tool, **element("Figure 8-1", "survay")) == (
        "Document 'survay' not found. Did you mean: survey?"
    )
    assert failed(session, tool, **element("Figure 8-1", "zzz")) == "Document 'zzz' not found."
    for empty in ("", " "):
        assert "not found" in failed(session, tool, **element(empty))


@pytest.mark.parametrize("number", [0, -1, SURVEY_PAGES + 1, 10**9])
def test_a_page_that_is_not_there(session: Session, number: int) -> None:
    message = failed(session, "get_page_image", document_slug=SURVEY, page_number=number)
    assert message == f"Page {number} not found. Document has {SURVEY_PAGES} pages."


def test_a_page_of_a_document_that_is_not_there(session: Session) -> None:
    message = failed(session, "get_page_image", document_slug="appendix", page_number=1)
    assert message == "Document 'appendix' not found. Did you mean: appendices?"


def test_the_tour_is_a_resource_and_names_every_tool(session: Session) -> None:
    [resource] = session.do(session.client.list_resources).resources
    assert (str(resource.uri), resource.mime_type) == ("tour://library", "text/markdown")
    [content] = session.do(session.client.read_resource, "tour://library").contents
    assert isinstance(content, TextResourceContents)
    named = set(session.tools) - {"get_library_status"}
    assert not [tool for tool in named if f"`{tool}" not in content.text]


def test_pages_and_elements_are_resources_too(session: Session) -> None:
    templates = session.do(session.client.list_resource_templates).resource_templates
    assert {template.uri_template for template in templates} == {
        "library://{slug}/page/{number}{?chunk}",
        "library://{slug}/element/{label}",
    }
    page = read(session, f"library://{SURVEY}/page/2")
    assert page == show(session, "get_page_image", document_slug=SURVEY, page_number=2).png


@pytest.mark.parametrize("label", ["Figure 8-1", "(8-3)", "fig. 8-1"])
def test_the_label_in_an_address_is_encoded(session: Session, label: str) -> None:
    picture = read(session, f"library://{SURVEY}/element/{quote(label, safe='')}")
    assert picture == show(session, "get_element_image", **element(label)).png


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("library://survay/page/1", "Did you mean: survey"),
        (f"library://{SURVEY}/page/0", "Document has 3 pages"),
        (f"library://{SURVEY}/page/99", "Document has 3 pages"),
        (f"library://{SURVEY}/page/one", "'one' is no number of a page"),
        (f"library://{SURVEY}/element/Figure%2077", "Element 'Figure 77' not found"),
        (f"library://{APPENDICES}/element/Figure%201", "page 1"),
        (f"library://{SURVEY}", "Unknown resource"),
    ],
)
def test_a_resource_that_is_not_there_is_an_error(
    session: Session, address: str, words: str
) -> None:
    with pytest.raises(MCPError, match=words):
        read(session, address)


@pytest.mark.parametrize(
    ("address", "name", "begun", "slug", "found"),
    [
        ("page/{number}", "slug", "", None, [APPENDICES, SURVEY]),
        ("page/{number}", "slug", "sur", None, [SURVEY]),
        ("page/{number}", "slug", "END", None, [APPENDICES]),
        ("page/{number}", "number", "", SURVEY, ["1", "2", "3"]),
        ("page/{number}", "number", "2", SURVEY, ["2"]),
        ("page/{number}", "number", "1", None, []),
        ("page/{number}", "number", "1", "nothing", []),
        ("element/{label}", "label", "fig", SURVEY, ["Figure 8-1", "Figure 9-1", "Figure 9-2"]),
        ("element/{label}", "label", "9", SURVEY, ["Figure 9-1", "Figure 9-2"]),
        ("element/{label}", "label", "", APPENDICES, ["Figure 1"]),
    ],
)
def test_names_complete(
    session: Session, address: str, name: str, begun: str, slug: str | None, found: list[str]
) -> None:
    reference = ResourceTemplateReference(type="ref/resource", uri=f"library://{{slug}}/{address}")
    known = {"slug": slug} if slug else None
    result = session.do(session.client.complete, reference, {"name": name, "value": begun}, known)
    assert result.completion.values == found


def test_the_prompt_teaches_the_way(session: Session) -> None:
    [prompt] = session.do(session.client.list_prompts).prompts
    assert prompt.name == "show_me"
    answer = session.do(session.client.get_prompt, "show_me", {"wanted": "a map of damp houses"})
    [message] = answer.messages
    assert isinstance(message.content, TextContent)
    assert message.content.text.endswith("Wanted: a map of damp houses")
    for tool in ("search_visual_elements", "get_element_image", "get_element_details"):
        assert tool in message.content.text


def read(session: Session, address: str) -> bytes:
    """A resource that is a picture."""
    [content] = session.do(session.client.read_resource, address).contents
    assert isinstance(content, BlobResourceContents)
    assert content.mime_type == "image/png"
    return open_png(base64.b64decode(content.blob))[1]
