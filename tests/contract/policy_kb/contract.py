"""The promises of the Policy KB."""

from datetime import date
from pathlib import Path

from mcp.types import CallToolResult

from quinion.store.policies import open_registry
from tests.contract.contracts import Contract
from tests.contract.endpoints import TOKEN, WRONG_TOKEN
from tests.contract.policy_kb.asking import (
    ERROR_KEYS,
    INGEST_KEYS,
    POLICIES_ADDITIONS,
    POLICIES_KEYS,
    POLICY_KEYS,
    REMOVE_KEYS,
    RESULT_FIELDS,
    REVISION_ADDITIONS,
    REVISION_KEYS,
    REVISIONS_ADDITIONS,
    REVISIONS_KEYS,
    SEARCH_ADDITIONS,
    SEARCH_KEYS,
    SECTION_ADDITIONS,
    SECTION_KEYS,
    find,
    found_on,
    ingest,
    ingest_well,
    list_policies,
    list_revisions,
    read,
    refusal,
    register,
    remove,
    revise,
)
from tests.contract.policy_kb.policies import leaflet, leaflet_paragraph
from tests.contract.process import Home
from tests.contract.session import Session, check_answer
from tests.contract.tools import NOTHING

FLAGGED, WARNED = {"hidden_text"}, {"warnings"}
"""Additions that are left out where nothing is hidden."""
COMPARED, CHANGES = {"comparison"}, {"changes"}
"""Additions that are left out where nothing was to be compared."""
MISSING = "Missing Authorization header"
WRONG_FORMAT = "Invalid Authorization header format, expected: Bearer <token>"
INVALID = "Invalid bearer token"
# What is sent, and what the spec has for it.
REFUSALS: dict[str, tuple[str | None, str]] = {
    "none": (None, MISSING),
    "a wrong token": (f"Bearer {WRONG_TOKEN}", INVALID),
    "the token and more": (f"Bearer {TOKEN}x", INVALID),
    "a part of the token": (f"Bearer {TOKEN[:-1]}", INVALID),
    "no token": ("Bearer", INVALID),
    "basic": ("Basic Y29ycmVjdC1ob3JzZTpiYXR0ZXJ5", WRONG_FORMAT),
    "basic with the token": (f"Basic {TOKEN}", WRONG_FORMAT),
    "digest": (f"Digest {TOKEN}", WRONG_FORMAT),
    "only the token": (TOKEN, WRONG_FORMAT),
    "an empty header": ("", WRONG_FORMAT),
}


def refuse(result: CallToolResult) -> str:
    """Return the message of an error about the input."""
    return refusal(check_answer(result), "invalid_input")


def converse(session: Session, home: Home, folder: Path) -> None:
    """Ingest a revision, find, read, list and remove it."""
    registry = open_registry(home.path / "policies.db", None, home.database)
    source = register(registry)
    revision = source, revise(registry, source, "December 2024", date(2024, 12, 12))
    registry.close()
    assert ingest_well(session, *revision, leaflet(folder / "a.pdf", "A"))["page_count"] == 2
    [hit] = find(
        session,
        "who looks after hedges?",
        sources=[source],
        effective_date="2025-01-01",
        n_results=1,
    )
    assert (hit["revision_id"], hit["version_label"]) == (revision[1], "December 2024")
    assert found_on(session, source, "2024-12-11") == set()
    answer = read(session, source, "Para 1.2")
    assert answer["text"] == leaflet_paragraph(2, "A")
    assert answer["page_numbers"] == [2]
    assert source in [policy["source"] for policy in list_policies(session)]
    [listed] = list_revisions(session, source)
    assert (listed["status"], listed["chunk_count"]) == ("active", 5)
    refusal(ingest(session, *revision, "/nothing/here.pdf"), "file_not_found")
    assert remove(session, *revision) == 5
    assert found_on(session, source, None) == set()


CONTRACT = Contract(
    name="policy-kb",
    calls_itself="policy-kb-mcp",
    port=3003,
    reading={
        "search_policy",
        "get_policy_section",
        "list_policy_documents",
        "list_policy_revisions",
    },
    writing={"ingest_policy_revision"},
    deleting={"remove_policy_revision"},
    of_commands={"bring_into_step", "verify"},
    parameters=[
        ("search_policy", "query", {"string"}, True, NOTHING),
        ("search_policy", "sources", {"array", "null"}, False, None),
        ("search_policy", "effective_date", {"string", "null"}, False, None),
        ("search_policy", "n_results", {"integer"}, False, 10),
        ("get_policy_section", "source", {"string"}, True, NOTHING),
        ("get_policy_section", "section_ref", {"string"}, True, NOTHING),
        ("get_policy_section", "revision_id", {"string", "null"}, False, None),
        ("list_policy_revisions", "source", {"string"}, True, NOTHING),
        ("ingest_policy_revision", "source", {"string"}, True, NOTHING),
        ("ingest_policy_revision", "revision_id", {"string"}, True, NOTHING),
        ("ingest_policy_revision", "file_path", {"string"}, True, NOTHING),
        ("ingest_policy_revision", "reindex", {"boolean"}, False, False),
        ("remove_policy_revision", "source", {"string"}, True, NOTHING),
        ("remove_policy_revision", "revision_id", {"string"}, True, NOTHING),
        # Additions, which a client of the contract never sends.
        ("search_policy", "more_queries", {"array", "null"}, False, None),
        ("search_policy", "mode", {"string", "null"}, False, None),
        ("search_policy", "images", {"integer"}, False, 0),
        ("search_policy", "merge", {"boolean"}, False, False),
        ("get_policy_section", "images", {"integer"}, False, 0),
        ("search_policy", "revision_id", {"string", "null"}, False, None),
        ("get_policy_section", "from_part", {"integer"}, False, 0),
        ("get_policy_section", "compare_with", {"string", "null"}, False, None),
        ("list_policy_revisions", "from_revision", {"integer"}, False, 0),
        ("list_policy_revisions", "changes", {"boolean"}, False, False),
    ],
    answers={
        "search_policy": [SEARCH_KEYS | SEARCH_ADDITIONS | {"warning"}, ERROR_KEYS],
        "get_policy_section": [SECTION_KEYS | SECTION_ADDITIONS | FLAGGED | COMPARED, ERROR_KEYS],
        "list_policy_documents": [POLICIES_KEYS | POLICIES_ADDITIONS, ERROR_KEYS],
        "list_policy_revisions": [REVISIONS_KEYS | REVISIONS_ADDITIONS, ERROR_KEYS],
        "ingest_policy_revision": [INGEST_KEYS | WARNED, ERROR_KEYS],
        "remove_policy_revision": [REMOVE_KEYS, ERROR_KEYS],
    },
    parts=[
        ("search_policy", "Result", {*RESULT_FIELDS, *FLAGGED, "match", "merged", "evidence"}),
        ("list_policy_documents", "PolicyEntry", POLICY_KEYS),
        ("list_policy_revisions", "RevisionEntry", REVISION_KEYS | REVISION_ADDITIONS | CHANGES),
    ],
    refusals=REFUSALS,
    refusal=refuse,
    wrong_arguments=[
        ("search_policy", {}, "query"),
        ("search_policy", {"query": ["hedges"]}, "query"),
        ("search_policy", {"query": None}, "query"),
        ("search_policy", {"query": "hedges", "sources": "NPPF"}, "sources"),
        ("search_policy", {"query": "hedges", "sources": [1]}, "sources"),
        ("search_policy", {"query": "hedges", "more_queries": "bats"}, "more_queries"),
        ("search_policy", {"query": "hedges", "max_results": 3}, "max_results"),
        ("get_policy_section", {"source": "NPPF"}, "section_ref"),
        ("get_policy_section", {"section_ref": "Para 1"}, "source"),
        ("get_policy_section", {"source": "NPPF", "section_ref": 116}, "section_ref"),
        ("get_policy_section", {"source": "X", "section_ref": "1", "page": 1}, "page"),
        ("get_policy_section", {"source": "X", "section_ref": "1", "compare_with": 1}, "compare_"),
        ("list_policy_revisions", {"source": "X", "changes": "all"}, "changes"),
        ("list_policy_documents", {"category": "local_plan"}, "category"),
        ("list_policy_revisions", {}, "source"),
        ("list_policy_revisions", {"source": None}, "source"),
        ("ingest_policy_revision", {"source": "X", "revision_id": "y"}, "file_path"),
        ("ingest_policy_revision", {"source": "X", "file_path": "/a.pdf"}, "revision_id"),
        (
            "ingest_policy_revision",
            {"source": "X", "revision_id": "y", "file_path": "/a.pdf", "reindex": "maybe"},
            "reindex",
        ),
        ("remove_policy_revision", {"source": "X"}, "revision_id"),
        ("remove_policy_revision", {"source": "X", "revision_id": "y", "force": True}, "force"),
    ],
    bad_settings=[
        ("POLICY_KB_PORT", "99999"),
        ("REDIS_URL", "http://:secret@localhost:6379"),
        ("REDIS_URL", "redis://user:secret@localhost:many/0"),
        ("REDIS_URL", "localhost:6379"),
        ("REDIS_URL", "redis://:secret@localhost:6379/0?no_such_option=1"),
    ],
    converse=converse,
)
