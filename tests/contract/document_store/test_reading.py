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


def test_an_answer_has_the_keys_of_the_contract_and_one_more(
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


def test_a_listing_has_the_keys_of_the_contract_and_one_more(
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
            }
        ],
        "next_document": None,
    }


def test_an_application_without_documents_is_no_error(session: Session) -> None:
    answer = session.call("list_ingested_documents", application_ref="99/99999/XXX")
    assert answer == {
        "status": "success",
        "application_ref": "99/99999/XXX",
        "document_count": 0,
        "documents": [],
        "next_document": None,
    }


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
