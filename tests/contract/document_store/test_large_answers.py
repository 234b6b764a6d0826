"""No answer is larger than a client can take: 1 MiB, which is where the Python SDK gives up.

The documents are put into the store beforehand, because to ingest them would take minutes.
"""

import math
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from mcp import MCPError

from tests.contract.conftest import NewHome
from tests.contract.document_store.asking import CHUNKS, REGISTRY
from tests.contract.folder import Entry, put
from tests.contract.local import LocalServer, Serve
from tests.contract.resources import addresses, complete, read_json, unfilled
from tests.contract.resources import read_parts as read_parts_at
from tests.contract.session import LARGEST, Answer, Session

MIB = 1 << 20
# Each is as long as a chunk may be; the second doubles twice when it is written as JSON in JSON.
TEXTS = {"plain": "words, " * 114, "quoted": '"\\' * 400, "other script": "図面" * 400}
CHUNK_COUNTS = {"plain": 800, "quoted": 300, "other script": 300}
MANY = 1500


def chunk(name: str, index: int) -> Entry:
    text, count = TEXTS[name], CHUNK_COUNTS[name]
    angle = math.pi * index / count
    return Entry(
        id=f"{name}_001_{index:03d}",
        text=f"{index:05d}{text[5:]}",
        metadata={
            "application_ref": name,
            "document_id": name,
            "source_file": "Long.pdf",
            "document_type": "other",
            "page_numbers": "1",
            "chunk_index": index,
            "total_chunks": count,
            "extraction_method": "text_layer",
            "char_count": len(text),
            "word_count": len(text.split()),
        },
        vector=[math.cos(angle), math.sin(angle)],
    )


def document(document_id: str, ref: str) -> Entry:
    return Entry(
        id=document_id,
        text="Long.pdf",
        metadata={
            "file_path": f"/data/raw/{ref}/{'a long folder name/' * 5}Long.pdf",
            "file_hash": "0" * 64,
            "application_ref": ref,
            "document_type": "other",
            "chunk_count": CHUNK_COUNTS.get(document_id, 1),
            "ingested_at": "2026-02-14T10:30:00+00:00",
            "extraction_method": "text_layer",
            "contains_drawings": False,
        },
        vector=[],
    )


@pytest.fixture(scope="module")
def server(new_home: NewHome, serve: Serve) -> Iterator[LocalServer]:
    home = new_home()
    ids = [(f"many_{number:06x}", "many") for number in range(MANY)]
    entries = {
        REGISTRY: [document(*pair) for pair in [*ids, *((name, name) for name in TEXTS)]],
        CHUNKS: [chunk(name, index) for name in TEXTS for index in range(CHUNK_COUNTS[name])],
    }
    put(home, entries)
    with serve(home) as server:
        yield server


@pytest.fixture(scope="module")
def session(server: LocalServer) -> Iterator[Session]:
    """A session that checks the size of every answer."""
    with server.session() as session:
        yield session


def read_parts(session: Session, document_id: str, **options: object) -> list[Answer]:
    parts: list[Answer] = []
    start: int | None = 0
    while start is not None:
        answer = session.call(
            "get_document_text", document_id=document_id, from_chunk=start, **options
        )
        assert answer["status"] == "success"
        parts.append(answer)
        assert answer["next_chunk"] is None or answer["next_chunk"] > start
        start = answer["next_chunk"]
    return parts


@pytest.mark.parametrize("name", TEXTS)
def test_a_long_text_comes_in_parts_that_add_up(session: Session, name: str) -> None:
    parts = read_parts(session, name)
    assert len(parts) > 1
    assert {part["chunk_count"] for part in parts} == {CHUNK_COUNTS[name]}
    expected = [f"{index:05d}{TEXTS[name][5:]}".strip() for index in range(CHUNK_COUNTS[name])]
    texts = "\n\n".join(part["text"] for part in parts).split("\n\n")
    assert [text.strip() for text in texts] == expected


def test_a_part_is_not_much_smaller_than_it_may_be(session: Session) -> None:
    first = read_parts(session, "plain", max_characters=10**9)[0]
    # It travels twice, as structured content and as text; some room is for what is echoed.
    assert len(first["text"]) * 2 > MIB * 0.6


@pytest.mark.parametrize("name", TEXTS)
def test_a_long_text_says_where_it_goes_on(session: Session, name: str) -> None:
    parts = read_parts_at(session, f"documents://document/{quote(name)}")
    assert len(parts) > 1
    whole = read_parts(session, name, without_overlap=True)
    assert "".join(parts) == "".join(part["text"] for part in whole)


def test_a_long_list_of_documents_is_a_resource_that_fits(session: Session) -> None:
    answer = read_json(session, "documents://application/many")
    assert answer["document_count"] == MANY
    assert 0 < answer["next_document"] == len(answer["documents"]) < MANY
    address = f"documents://application/many?from_document={answer['next_document']}"
    assert read_json(session, address)["documents"][0] not in answer["documents"]
    assert len(addresses(session)) == 101
    assert len(complete(session, "documents://document/{document_id}", "document_id")) == 100


def test_chunks_of_another_program_are_taken_not_to_overlap(session: Session) -> None:
    whole = read_parts(session, "plain")
    once = read_parts(session, "plain", without_overlap=True)
    assert "".join(part["text"] for part in once).split() == [
        word for part in whole for word in part["text"].split()
    ]


@pytest.mark.parametrize("name", TEXTS)
def test_too_many_results_keep_the_best_and_say_so(session: Session, name: str) -> None:
    answer = session.call(
        "search_application_docs", query="drawing", application_ref=name, max_results=1000
    )
    assert answer["truncated"] is True
    assert 20 < answer["results_count"] == len(answer["results"]) < 1000
    fewer = session.call(
        "search_application_docs", query="drawing", application_ref=name, max_results=20
    )
    assert fewer["truncated"] is False
    scores = [result["relevance_score"] for result in answer["results"]]
    assert scores[:20] == pytest.approx([r["relevance_score"] for r in fewer["results"]])


def test_a_long_listing_comes_in_parts_that_add_up(session: Session) -> None:
    listed: list[Answer] = []
    start: int | None = 0
    while start is not None:
        answer = session.call(
            "list_ingested_documents", application_ref="many", from_document=start
        )
        assert answer["document_count"] == MANY
        listed += answer["documents"]
        start = answer["next_document"]
    ids = [document["document_id"] for document in listed]
    assert sorted(ids) == [f"many_{number:06x}" for number in range(MANY)]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_application_docs", {"query": "bats " * 200_000}),
        ("get_document_text", {"document_id": "x" * MIB}),
        ("list_ingested_documents", {"application_ref": "x" * MIB}),
        ("ingest_document", {"file_path": "/" + "x" * MIB, "application_ref": "X"}),
        ("search_application_docs", {"query": "bats", "document_types": ["x" * MIB]}),
        ("search_application_docs", {"query": "bats", "x" * MIB: 1}),
    ],
    ids=["query", "document_id", "application_ref", "file_path", "document_types", "unknown"],
)
def test_a_huge_argument_does_not_come_back_huge(
    server: LocalServer, tool: str, arguments: Answer
) -> None:
    with server.session("legacy") as session:
        answer = session.call(tool, **arguments)
        if answer["status"] == "error":
            assert len(answer["message"]) < 10_000
        # The connection has survived, and the next call works.
        listed = session.call("list_ingested_documents", application_ref="nothing")
        assert listed["document_count"] == 0


@pytest.mark.parametrize("size", [30_000, MIB])
@pytest.mark.parametrize("start", ["documents://document/", "documents://application/", "x"])
def test_a_huge_address_does_not_come_back_huge(server: LocalServer, start: str, size: int) -> None:
    with server.session("legacy") as session:
        with pytest.raises(MCPError) as caught:
            session.do(session.client.read_resource, start + "x" * size)
        assert len(str(caught.value)) < LARGEST
        assert read_json(session, "documents://applications")["application_count"] == 4


def test_a_huge_argument_of_a_prompt_does_not_come_back_huge(server: LocalServer) -> None:
    huge = "x" * MIB
    with server.session("legacy") as session:
        for prompt, arguments in {
            "review_application": {"application_ref": huge, "validation_date": "2025-01-01"},
            huge: {},
        }.items():
            assert len(unfilled(session, prompt, **arguments)) < 10_000
        arguments = {"application_ref": "1", "validation_date": "2025-01-01", huge: "x"}
        assert len(unfilled(session, "review_application", **arguments)) < 10_000
