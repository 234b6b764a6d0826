"""The promises of the Document Store."""

from pathlib import Path

from mcp.types import CallToolResult

from tests.contract.contracts import Contract
from tests.contract.document_store.asking import (
    ADDED_FIELDS,
    ALREADY_KEYS,
    CHUNK_FIELDS,
    ERROR_KEYS,
    RESULT_KEYS,
    SKIPPED_KEYS,
    SUCCESS_KEYS,
    find,
    ingest,
    ingest_well,
    list_documents,
    read_text,
    refusal,
)
from tests.contract.process import Home
from tests.contract.session import Session, check_answer
from tests.contract.tools import NOTHING
from tests.documents import PROSE, text_pdf

SCRIPTS = 'café “naïve” Ωμέγα 図面 🚲 \\ " / \n tab\t.'


def refuse(result: CallToolResult) -> str:
    """Return the message of an error about the input."""
    return refusal(check_answer(result), "invalid_input")


def converse(session: Session, home: Home, folder: Path) -> None:
    """Ingest a document, find, read and list it."""
    file = text_pdf(folder / "Transport Assessment.pdf", PROSE)
    ref = f"25/{folder.name}/FUL"
    answer = ingest_well(session, file, ref)
    [hit] = find(session, "where can bikes be left?", application_ref=ref)
    assert hit["metadata"]["document_id"] == answer["document_id"]
    assert hit["text"] == PROSE
    assert read_text(session, answer["document_id"]) == PROSE
    [listed] = list_documents(session, ref)
    assert listed["document_id"] == answer["document_id"]
    assert listed["file_path"] == str(file)
    refusal(ingest(session, folder / "nothing here.pdf"), "file_not_found")
    found = session.call("search_application_docs", query=SCRIPTS)
    assert found["query"] == SCRIPTS


CONTRACT = Contract(
    name="document-store",
    calls_itself="document-store-mcp",
    port=3002,
    reading={"search_application_docs", "get_document_text", "list_ingested_documents"},
    writing={"ingest_document"},
    of_commands={"back_up", "verify"},
    parameters=[
        ("ingest_document", "file_path", {"string"}, True, NOTHING),
        ("ingest_document", "application_ref", {"string"}, True, NOTHING),
        ("ingest_document", "document_type", {"string", "null"}, False, None),
        ("search_application_docs", "query", {"string"}, True, NOTHING),
        ("search_application_docs", "application_ref", {"string", "null"}, False, None),
        ("search_application_docs", "document_types", {"array", "null"}, False, None),
        ("search_application_docs", "max_results", {"integer"}, False, 10),
        ("get_document_text", "document_id", {"string"}, True, NOTHING),
        ("list_ingested_documents", "application_ref", {"string"}, True, NOTHING),
        # Additions, which a client of the contract never sends.
        ("search_application_docs", "mode", {"string", "null"}, False, None),
        ("search_application_docs", "images", {"integer"}, False, 0),
        ("search_application_docs", "merge", {"boolean"}, False, False),
        ("get_document_text", "without_overlap", {"boolean"}, False, False),
        ("ingest_document", "replace", {"boolean"}, False, False),
        ("get_document_text", "from_chunk", {"integer"}, False, 0),
        ("get_document_text", "pages", {"string", "null"}, False, None),
        ("get_document_text", "page_marks", {"boolean"}, False, False),
        ("get_document_text", "max_characters", {"integer"}, False, 100_000),
        ("list_ingested_documents", "from_document", {"integer"}, False, 0),
    ],
    answers={
        "ingest_document": [
            {*SUCCESS_KEYS, "warnings", "replaces"},
            {*ALREADY_KEYS, "replaces"},
            SKIPPED_KEYS,
            ERROR_KEYS,
        ],
        "search_application_docs": [
            {"status", "query", "results_count", "results", "truncated", "warning", "hint"},
            ERROR_KEYS,
        ],
        "get_document_text": [
            {
                "status",
                "document_id",
                "file_path",
                "document_type",
                "chunk_count",
                "text",
                "next_chunk",
                "title",
                "hint",
                "hidden_text",
            },
            ERROR_KEYS,
        ],
        "list_ingested_documents": [
            {"status", "application_ref", "document_count", "documents", "next_document", "hint"},
            ERROR_KEYS,
        ],
    },
    parts=[
        ("search_application_docs", "Result", {*RESULT_KEYS, "match", "merged", "evidence"}),
        ("search_application_docs", "ChunkMetadata", {*CHUNK_FIELDS, *ADDED_FIELDS, "hidden_text"}),
    ],
    refusal=refuse,
    wrong_arguments=[
        ("ingest_document", {}, "file_path"),
        ("ingest_document", {"file_path": "/a.pdf"}, "application_ref"),
        ("ingest_document", {"file_path": 7, "application_ref": "X"}, "file_path"),
        ("ingest_document", {"file_path": None, "application_ref": "X"}, "file_path"),
        ("ingest_document", {"file_path": "/a", "application_ref": "X", "force": 1}, "force"),
        ("search_application_docs", {}, "query"),
        ("search_application_docs", {"query": ["bats"]}, "query"),
        ("search_application_docs", {"query": "bats", "document_types": "other"}, "document_types"),
        ("search_application_docs", {"query": "bats", "document_types": [1]}, "document_types"),
        ("search_application_docs", {"query": "bats", "limit": 3}, "limit"),
        ("get_document_text", {}, "document_id"),
        ("get_document_text", {"document_id": "x", "page": 1}, "page"),
        ("get_document_text", {"document_id": "x", "without_overlap": "maybe"}, "without_overlap"),
        ("list_ingested_documents", {}, "application_ref"),
        ("list_ingested_documents", {"ref": "X"}, "ref"),
    ],
    bad_settings=[
        ("DOCUMENT_STORE_PORT", "99999"),
        ("DOCUMENT_STORE_PORT", "three"),
        ("ENABLE_OCR", "perhaps"),
        ("IMAGE_RATIO_THRESHOLD", "1.5"),
        ("IMAGE_RATIO_THRESHOLD", "nan"),
        ("QUINION_WORKERS", "0"),
        ("CHROMA_URL", "ftp://example.org"),
        ("CHROMA_PERSIST_DIR", "/dev/null/chroma"),
        ("QUINION_HOME", "/dev/null/home"),
    ],
    converse=converse,
)
