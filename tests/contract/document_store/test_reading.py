"""`get_document_text` and `list_ingested_documents`."""

from pathlib import Path

import pytest

from tests.contract.document_store.asking import (
    chunks_of,
    ingest_well,
    list_documents,
    read_text,
    refusal,
)
from tests.contract.session import Answer, Session
from tests.documents import PROSE, page_text, text_pdf

REF = "25/04711/REM"
PAGES = ["\n".join([f"Chapter {number}.", PROSE, PROSE, PROSE, PROSE]) for number in range(1, 5)]


@pytest.fixture(scope="module")
def report(files: Path) -> Path:
    return text_pdf(files / "Planning Statement.pdf", *PAGES)


@pytest.fixture(scope="module")
def ingested(session: Session, report: Path) -> Answer:
    return ingest_well(session, report, REF)


def read(session: Session, document_id: str, **options: object) -> Answer:
    return session.call("get_document_text", document_id=document_id, **options)


def test_an_answer_has_the_keys_of_the_contract_and_two_more(
    session: Session, ingested: Answer, report: Path
) -> None:
    answer = read(session, ingested["document_id"])
    text = answer.pop("text")
    assert answer == {
        "status": "success",
        "document_id": ingested["document_id"],
        "file_path": str(report),
        "document_type": "planning_statement",
        "chunk_count": ingested["chunks_created"],
        "title": "Planning Statement",
        "next_chunk": None,
    }
    assert type(text) is str


def test_the_text_is_that_of_the_chunks_with_a_blank_line_between(
    session: Session, ingested: Answer
) -> None:
    chunks = chunks_of(session, ingested["document_id"], REF)
    assert len(chunks) > 3
    expected = "\n\n".join(chunk["text"] for chunk in chunks)
    assert read_text(session, ingested["document_id"]) == expected


def test_without_overlap_each_character_comes_once(session: Session, ingested: Answer) -> None:
    text = read_text(session, ingested["document_id"], without_overlap=True)
    assert text == "\n\n".join(map(page_text, PAGES)).rstrip()
    assert len(text) < len(read_text(session, ingested["document_id"]))


def test_reading_can_begin_at_any_chunk(session: Session, ingested: Answer) -> None:
    chunks = chunks_of(session, ingested["document_id"], REF)
    for start in range(len(chunks)):
        expected = "\n\n".join(chunk["text"] for chunk in chunks[start:])
        assert read_text(session, ingested["document_id"], from_chunk=start) == expected


def test_parts_without_overlap_add_up(session: Session, ingested: Answer) -> None:
    whole = read_text(session, ingested["document_id"], without_overlap=True)
    for start in range(1, ingested["chunks_created"]):
        rest = read_text(session, ingested["document_id"], without_overlap=True, from_chunk=start)
        assert whole.endswith(rest)
        assert 0 < len(rest) < len(whole)


@pytest.mark.parametrize("missing", ["25_01178_REM_a1b2c3", "", "%", "../etc/passwd", "x" * 200])
def test_an_unknown_document_is_not_found(session: Session, missing: str) -> None:
    answer = read(session, missing)
    assert refusal(answer, "document_not_found") == f"Document not found: {missing}"


@pytest.mark.parametrize("start", [-1, 1000, "first"])
def test_a_chunk_that_does_not_exist_is_refused(
    session: Session, ingested: Answer, start: object
) -> None:
    answer = read(session, ingested["document_id"], from_chunk=start)
    assert "from_chunk" in refusal(answer, "invalid_input")


def test_a_listing_has_the_keys_of_the_contract_and_a_title(
    session: Session, ingested: Answer, report: Path
) -> None:
    answer = session.call("list_ingested_documents", application_ref=REF)
    [document] = answer["documents"]
    ingested_at = document.pop("ingested_at")
    assert type(ingested_at) is str
    assert answer == {
        "status": "success",
        "application_ref": REF,
        "document_count": 1,
        "documents": [
            {
                "document_id": ingested["document_id"],
                "file_path": str(report),
                "document_type": "planning_statement",
                "chunk_count": ingested["chunks_created"],
                "extraction_method": "text_layer",
                "contains_drawings": False,
                "title": "Planning Statement",
            }
        ],
        "next_document": None,
    }


def test_an_application_without_documents_is_no_error(session: Session, ingested: Answer) -> None:
    answer = session.call("list_ingested_documents", application_ref="99/99999/XXX")
    assert answer == {
        "status": "success",
        "application_ref": "99/99999/XXX",
        "document_count": 0,
        "documents": [],
        "next_document": None,
        "hint": answer["hint"],
    }


def test_an_unknown_application_is_a_success_that_names_near_references(
    session: Session, ingested: Answer
) -> None:
    listed = session.call("list_ingested_documents", application_ref="25/04711/FUL")
    found = session.call("search_application_docs", query="roofs", application_ref="25_04711_rem")
    for answer in (listed, found):
        assert answer["status"] == "success"
        assert REF in answer["hint"]
    assert (found["results_count"], found["results"]) == (0, [])


def test_a_known_application_has_no_hint(session: Session, ingested: Answer) -> None:
    listed = session.call("list_ingested_documents", application_ref=REF)
    found = session.call("search_application_docs", query="roofs", application_ref=REF)
    other = session.call(
        "search_application_docs",
        query="roofs",
        application_ref=REF,
        document_types=["ecology_report"],
    )
    assert other["results"] == []
    assert not any("hint" in answer for answer in (listed, found, other))


def test_pages_can_be_read_on_their_own(session: Session, ingested: Answer) -> None:
    pages = [page_text(page).strip() for page in PAGES]
    for wanted, expected in {"2": pages[1:2], "2-3": pages[1:3], "3-": pages[2:]}.items():
        text = read_text(session, ingested["document_id"], pages=wanted)
        assert text == "\n\n".join(expected)


def test_page_marks_say_where_each_page_starts(session: Session, ingested: Answer) -> None:
    expected = [
        f"[page {number}]\n{page_text(page).strip()}" for number, page in enumerate(PAGES, 1)
    ]
    marked = read_text(session, ingested["document_id"], page_marks=True)
    assert marked == "\n\n".join(expected)
    some = read_text(session, ingested["document_id"], page_marks=True, pages="2-3")
    assert some == "\n\n".join(expected[1:3])


def test_a_part_that_begins_inside_a_page_names_that_page(
    session: Session, ingested: Answer
) -> None:
    answer = read(session, ingested["document_id"], page_marks=True, from_chunk=1)
    assert answer["text"].startswith("[page 1]\n")
    assert "Chapter 1." not in answer["text"]


@pytest.mark.parametrize("wanted", ["", "0", "7-3", "a", "1,2", "-2", "1-2-3", "9" * 30])
def test_an_impossible_range_of_pages_is_refused(
    session: Session, ingested: Answer, wanted: str
) -> None:
    assert "pages" in refusal(read(session, ingested["document_id"], pages=wanted), "invalid_input")


def test_pages_beyond_the_end_are_refused_with_the_pages_there_are(
    session: Session, ingested: Answer
) -> None:
    answer = read(session, ingested["document_id"], pages="90-99")
    assert "1 to 4" in refusal(answer, "invalid_input")


@pytest.mark.parametrize(
    "options", [{}, {"without_overlap": True}, {"page_marks": True}, {"pages": "2-3"}]
)
def test_parts_are_as_long_as_wanted_and_say_how_to_go_on(
    session: Session, ingested: Answer, options: Answer
) -> None:
    whole = read_text(session, ingested["document_id"], **options)
    parts: list[str] = []
    start: int | None = 0
    while start is not None:
        answer = read(
            session, ingested["document_id"], from_chunk=start, max_characters=1500, **options
        )
        assert len(answer["text"]) <= 1500
        start = answer["next_chunk"]
        assert (f"from_chunk={start}" in answer["hint"]) if start else "hint" not in answer
        parts.append(answer["text"])
    assert len(parts) > 1
    squeezed = "".join("".join(parts).split())
    marks = ["[page1]", "[page2]", "[page3]", "[page4]"]
    for mark in marks:
        squeezed = squeezed.replace(mark, "")
    expected = "".join(whole.split())
    for mark in marks:
        expected = expected.replace(mark, "")
    assert squeezed == expected


def test_a_text_comes_in_parts_of_100_000_characters(session: Session, files: Path) -> None:
    file = text_pdf(files / "Long.pdf", *[f"Page {n}.\n" + f"{PROSE}\n" * 8 for n in range(60)])
    document = ingest_well(session, file, "LONG")["document_id"]
    first = read(session, document)
    assert 98_000 < len(first["text"]) <= 100_000
    assert f"from_chunk={first['next_chunk']}" in first["hint"]


def test_results_and_texts_carry_the_title_of_the_document(session: Session, files: Path) -> None:
    file = text_pdf(files / "DOC_0017.pdf", PROSE, title="Framework Travel Plan")
    document = ingest_well(session, file, "TITLES")["document_id"]
    [listed] = list_documents(session, "TITLES")
    [hit] = session.call("search_application_docs", query="bikes", application_ref="TITLES")[
        "results"
    ]
    texts = read(session, document)
    assert {listed["title"], hit["metadata"]["title"], texts["title"]} == {"Framework Travel Plan"}
    assert hit["metadata"]["source_file"] == "DOC_0017.pdf"


def test_a_listing_has_all_documents_of_the_application_and_no_other(
    session: Session, files: Path, ingested: Answer
) -> None:
    expected = {}
    for number in range(3):
        file = text_pdf(files / f"Letter {number}.pdf", f"Letter {number}.\n{PROSE}")
        expected[ingest_well(session, file, "24/1/FUL")["document_id"]] = str(file)
    listed = list_documents(session, "24/1/FUL")
    assert {document["document_id"]: document["file_path"] for document in listed} == expected
    assert ingested["document_id"] not in expected


@pytest.mark.parametrize("similar", ["25/04711", "25/04711/rem", "25-04711-REM", "25_04711_REM"])
def test_an_application_is_matched_whole_and_to_the_letter(
    session: Session, ingested: Answer, similar: str
) -> None:
    assert len(list_documents(session, REF)) == 1
    assert list_documents(session, similar) == []


def test_a_listing_can_begin_at_any_document(session: Session, ingested: Answer) -> None:
    def begin_at(start: int) -> Answer:
        return session.call("list_ingested_documents", application_ref=REF, from_document=start)

    assert begin_at(0)["documents"] == list_documents(session, REF)
    beyond = begin_at(1)
    assert (beyond["document_count"], beyond["documents"]) == (1, [])
    assert "from_document" in refusal(begin_at(-1), "invalid_input")


def test_an_empty_application_is_refused(session: Session) -> None:
    answer = session.call("list_ingested_documents", application_ref="  ")
    assert "application_ref" in refusal(answer, "invalid_input")
