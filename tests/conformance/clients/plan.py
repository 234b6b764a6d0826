"""Scenario of a client with each server: calls with known answers.

Every server gets a slow call with progress reports, a call that returns data, and a call that it
must refuse with its contract's error; doclibrary, to which only commands add, a picture instead.
"""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from quinion.store.policies import open_registry
from tests.contract.policy_kb.asking import register, revise
from tests.contract.policy_kb.policies import leaflet
from tests.contract.process import Home, run_command
from tests.documents import PROSE, Text, make_pdf

Json = dict[str, Any]
Check = Callable[[Json], None]

REF = "25/01178/REM"
MISSING = "/nothing/here.pdf"
PNG = b"\x89PNG"
PATIENCE_S = 60
MOST = 5
"""Number of listed resources that a client reads."""

WORDS = {
    "application_ref": REF,
    "validation_date": "2025-03-01",
    "date": "2025-03-01",
    "earlier": "2024-01-01",
    "later": "2025-03-01",
    "topic": "hedges",
    "question": "Who looks after hedges?",
    "folder": "/notes",
    "max_tokens": "2000",
}
"""Values for the arguments of prompts; `1` for others."""


@dataclass(frozen=True)
class Call:
    """A call with a check of its answer."""

    tool: str
    arguments: Json
    check: Check


@dataclass(frozen=True)
class Server:
    """A server: its calls, given a home and an empty folder, and its offers afterwards: a resource,
    a prompt, and a completion of an argument (of a template or a prompt)."""

    name: str
    calls: Callable[[Home, Path], Sequence[Call]]
    resource: str
    prompt: str
    argument: str

    @property
    def script(self) -> str:
        return f"{self.name}-mcp"


def _data(answer: Json) -> Json:
    """Return the structured answer; it must equal the text and not be a protocol error."""
    data: Json = answer["structuredContent"]
    [content] = answer["content"]
    assert content["type"] == "text"
    assert json.loads(content["text"]) == data
    assert not answer.get("isError", False)
    return data


def _says(key: str, value: object) -> Check:
    def check(answer: Json) -> None:
        assert _data(answer)[key] == value, answer

    return check


def _works(key: str, value: object) -> Check:
    """Check for success with progress reports."""

    def check(answer: Json) -> None:
        _says(key, value)(answer)
        steps = [report["progress"] for report in answer["progress"]]
        assert steps, "no progress was reported"
        assert steps == sorted(set(steps))
        assert all(report["total"] >= steps[-1] for report in answer["progress"])
        assert all(report["message"] for report in answer["progress"])

    return check


def _finds(path: Sequence[str], words: str) -> Check:
    """Check that the best hit is under that path and contains these words."""

    def check(answer: Json) -> None:
        hits: Any = _data(answer)
        for key in path:
            hits = hits[key]
        assert any(words in str(text) for text in hits[0].values()), hits

    return check


def _shows_page(answer: Json) -> None:
    text, image = answer["content"]
    assert text["text"].startswith("Page 2 of 2")
    assert (image["type"], image["mimeType"]) == ("image", "image/png")
    assert base64.b64decode(image["data"], validate=True).startswith(PNG)


def _is_not_found(answer: Json) -> None:
    [content] = answer["content"]
    assert content["text"] == "Error: Document 'xyz' not found."
    assert answer["structuredContent"] == {"error": content["text"]}


def _pages(folder: Path) -> Path:
    """Write two pages with unique content: the folder's name.

    Progress is reported after reading, well before the answer: the first version of the TypeScript
    SDK drops progress that arrives together with the answer.
    """
    return make_pdf(folder / f"{folder.name}.pdf", [Text(PROSE), Text(f"Page of {folder.name}")])


def _document_store(_: Home, folder: Path) -> list[Call]:
    ingest = {"file_path": str(_pages(folder)), "application_ref": REF}
    missing = ingest | {"file_path": MISSING}
    search = {"query": "how many cycle parking spaces are there?", "application_ref": REF}
    return [
        Call("ingest_document", ingest, _works("status", "success")),
        Call("search_application_docs", search, _finds(["results"], "cycle parking")),
        Call("ingest_document", missing, _says("error_type", "file_not_found")),
    ]


def _policy_kb(home: Home, folder: Path) -> list[Call]:
    registry = open_registry(home.path / "policies.db", None)
    try:
        source = register(registry)
        revision = revise(registry, source, "December 2024", date(2024, 12, 12))
    finally:
        registry.close()
    ingest = {
        "source": source,
        "revision_id": revision,
        "file_path": str(leaflet(folder / "policy.pdf", folder.name)),
    }
    search = {"query": "who looks after hedges?", "sources": [source], "n_results": 1}
    wrong = {"query": "hedges", "effective_date": "15/03/2024"}
    return [
        Call("ingest_policy_revision", ingest, _works("status", "success")),
        Call("search_policy", search, _finds(["results"], "December 2024")),
        Call("search_policy", wrong, _says("error_type", "invalid_date")),
    ]


def _docvec(_: Home, folder: Path) -> list[Call]:
    search = {"query": "how many cycle parking spaces are there?"}
    return [
        Call("index_file", {"file_path": str(_pages(folder))}, _works("success", True)),
        Call("search", search, _finds(["data", "results"], "cycle parking")),
        Call("index_file", {"file_path": MISSING}, _says("success", False)),
    ]


def _doclibrary(home: Home, folder: Path) -> list[Call]:
    page = {"document_slug": folder.name, "page_number": 2}
    with run_command(home, "doclibrary") as command:
        command.call("add_document", file_path=str(_pages(folder)))
    return [
        Call("get_page_image", page, _shows_page),
        Call("get_page_image", page | {"document_slug": "xyz"}, _is_not_found),
    ]


SERVERS = [
    Server(
        "document-store",
        _document_store,
        "documents://applications",
        "review_application",
        "review_application application_ref",
    ),
    Server("policy-kb", _policy_kb, "policy://policies", "text_in_force", "text_in_force source"),
    Server(
        "docvec",
        _docvec,
        "docvec://files",
        "answer_from_folder",
        "docvec://file/{path}{?from_chunk} path",
    ),
    Server(
        "doclibrary",
        _doclibrary,
        "tour://library",
        "show_me",
        "library://{slug}/page/{number}{?chunk} slug",
    ),
]
