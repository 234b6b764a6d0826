"""What is on the disk, as another program finds it, and what the server finds there again."""

import hashlib
import math
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from quinion.embed.local.embedder import LocalEmbedder
from tests.contract import folder
from tests.contract.conftest import NewHome
from tests.contract.document_store.asking import (
    CHUNK_FIELDS,
    CHUNKS,
    REF,
    REGISTRY,
    REGISTRY_ADDITIONS,
    REGISTRY_FIELDS,
    chunks_of,
    find,
    ingest,
    ingest_well,
    list_documents,
    read_text,
    refusal,
)
from tests.contract.folder import DIMENSIONS, Entry
from tests.contract.local import Serve
from tests.contract.process import MIRRORED, Home, run_http
from tests.contract.session import Answer, Session
from tests.documents import PROSE, AnyPage, Scan, Text, make_pdf, page_text

ORPHAN = "ORPHAN_123456"
SUBJECTS = [
    "Cycle parking is provided beside the northern entrance.",
    "The roof drains into an attenuation tank below the car park.",
    "Bats were seen to leave the old barn at dusk in June.",
    "Two oaks with preservation orders stand on the boundary.",
    "Noise from the railway reaches fifty decibels at night.",
]


@pytest.fixture(scope="module")
def outside() -> Iterator[socket.socket]:
    """Where a program that goes online would knock first, if it is told of a proxy."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


@dataclass(frozen=True)
class Kept:
    """One life of a server: what it answered, and what its folder holds after its end."""

    file: Path
    answer: Answer
    listed: Answer
    chunks: list[Answer]
    hits: list[Answer]
    text: str
    stored: dict[str, list[Entry]]


@pytest.fixture(scope="module")
def home(new_home: NewHome) -> Home:
    return new_home()


@pytest.fixture(scope="module")
def kept(home: Home, files: Path, outside: socket.socket) -> Kept:
    home.need_files()
    proxy = f"http://127.0.0.1:{outside.getsockname()[1]}"
    variables = {**dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), proxy), **MIRRORED}
    pages: list[AnyPage] = [
        *(Text("\n".join([subject, PROSE, PROSE])) for subject in SUBJECTS),
        Scan(f"The last page is a scan.\n{PROSE}"),
    ]
    file = make_pdf(files / "Transport Assessment.pdf", pages)
    with run_http(home, variables) as server, server.session() as session:
        answer = ingest_well(session, file)
        [listed] = list_documents(session)
        chunks = chunks_of(session, answer["document_id"])
        hits = find(session, chunks[0]["text"], max_results=50)
        text = read_text(session, answer["document_id"])
    return Kept(file, answer, listed, chunks, hits, text, folder.read(home.chroma))


def test_there_are_the_two_collections_of_the_contract(kept: Kept) -> None:
    assert set(kept.stored) == {CHUNKS, REGISTRY}


def test_every_chunk_is_stored_under_its_id_with_its_text(kept: Kept) -> None:
    stored = {entry.id: entry.text for entry in kept.stored[CHUNKS]}
    assert stored == {chunk["chunk_id"]: chunk["text"] for chunk in kept.chunks}
    assert len(stored) == kept.answer["chunks_created"] > 5


def test_every_field_of_a_chunk_is_stored_with_its_type(kept: Kept) -> None:
    answered = {chunk["chunk_id"]: chunk["metadata"] for chunk in kept.chunks}
    for entry in kept.stored[CHUNKS]:
        fields = {name: entry.metadata[name] for name in CHUNK_FIELDS}
        assert {name: type(value) for name, value in fields.items()} == CHUNK_FIELDS
        assert fields == {name: answered[entry.id][name] for name in CHUNK_FIELDS}


def test_the_fields_of_a_chunk_say_what_it_is(kept: Kept) -> None:
    for entry in kept.stored[CHUNKS]:
        assert entry.metadata["application_ref"] == REF
        assert entry.metadata["document_id"] == kept.answer["document_id"]
        assert entry.metadata["source_file"] == "Transport Assessment.pdf"
        assert entry.metadata["document_type"] == "transport_assessment"
        assert entry.metadata["extraction_method"] == "mixed"
        assert entry.metadata["total_chunks"] == kept.answer["chunks_created"]
        assert entry.metadata["char_count"] == len(entry.text)
        assert entry.metadata["word_count"] == len(entry.text.split())


def test_stored_texts_are_the_exact_text_of_their_pages(kept: Kept) -> None:
    pages = ["", *(page_text("\n".join([subject, PROSE, PROSE])) for subject in SUBJECTS)]
    typed = [e for e in kept.stored[CHUNKS] if "6" not in e.metadata["page_numbers"]]
    assert len(typed) >= 3
    for entry in typed:
        numbers = [int(number) for number in entry.metadata["page_numbers"].split(",")]
        assert entry.text in "\n\n".join(pages[number] for number in numbers)


def test_chunk_vectors_have_384_dimensions_and_unit_length(kept: Kept) -> None:
    for entry in kept.stored[CHUNKS]:
        assert len(entry.vector) == DIMENSIONS
        assert math.hypot(*entry.vector) == pytest.approx(1, abs=1e-4)
    assert len({tuple(entry.vector) for entry in kept.stored[CHUNKS]}) > 5


def test_the_registry_has_every_field_of_the_contract_and_the_number_of_pages(kept: Kept) -> None:
    [entry] = kept.stored[REGISTRY]
    assert entry.id == kept.answer["document_id"]
    assert {name: type(value) for name, value in entry.metadata.items()} == {
        **REGISTRY_FIELDS,
        **REGISTRY_ADDITIONS,
    }
    assert entry.metadata == {
        "file_path": str(kept.file),
        "file_hash": hashlib.sha256(kept.file.read_bytes()).hexdigest(),
        "application_ref": REF,
        "document_type": "transport_assessment",
        "chunk_count": kept.answer["chunks_created"],
        "ingested_at": kept.listed["ingested_at"],
        "extraction_method": "mixed",
        "contains_drawings": False,
        "page_count": len(SUBJECTS) + 1,
    }


def test_the_registry_has_placeholder_vectors(kept: Kept) -> None:
    [entry] = kept.stored[REGISTRY]
    assert entry.vector == [0.0] * DIMENSIONS


def test_a_relevance_score_is_computed_from_the_squared_distance(kept: Kept, models: Path) -> None:
    query = LocalEmbedder(models, numerics=None).embed_query(kept.chunks[0]["text"])
    vectors = {entry.id: entry.vector for entry in kept.stored[CHUNKS]}
    assert len(kept.hits) == len(vectors)
    for hit in kept.hits:
        distance = math.dist(query, vectors[hit["chunk_id"]]) ** 2
        assert hit["relevance_score"] == pytest.approx(max(0, 1 - distance / 2), abs=1e-4)


def test_a_chunk_is_nearest_to_its_own_text(kept: Kept) -> None:
    assert kept.hits[0]["chunk_id"] == kept.chunks[0]["chunk_id"]
    assert kept.hits[0]["relevance_score"] == pytest.approx(1, abs=5e-3)
    assert kept.hits[1]["relevance_score"] < 0.99


def test_nothing_is_sent_to_anybody(kept: Kept, outside: socket.socket) -> None:
    assert kept.hits
    with pytest.raises(BlockingIOError):
        outside.accept()


@pytest.fixture(scope="module")
def restarted(kept: Kept, home: Home, serve: Serve) -> Iterator[Session]:
    """A second server on the same home, after the first has ended.

    Meanwhile another program has added a chunk that points the other way than the first, and
    a document to the registry that has no chunks, and both were imported.
    """
    first = next(e for e in kept.stored[CHUNKS] if e.metadata["chunk_index"] == 0)
    opposite = replace(
        first,
        id="opposite_000000_001_000",
        text="The opposite.",
        metadata={
            **{name: first.metadata[name] for name in CHUNK_FIELDS},
            "application_ref": "OPPOSITE",
            "document_id": "opposite_000000",
        },
        vector=[-x for x in first.vector],
    )
    [registered] = kept.stored[REGISTRY]
    orphan = replace(
        registered, id=ORPHAN, metadata={**registered.metadata, "application_ref": "ORPHAN"}
    )
    folder.write(home.chroma, {CHUNKS: [opposite], REGISTRY: [orphan]})
    home.import_chroma()
    with serve(home) as server, server.session() as session:
        yield session


def test_a_restart_keeps_everything(restarted: Session, kept: Kept) -> None:
    assert list_documents(restarted) == [kept.listed]
    assert chunks_of(restarted, kept.answer["document_id"]) == kept.chunks
    assert read_text(restarted, kept.answer["document_id"]) == kept.text


def test_a_restart_knows_what_was_ingested(restarted: Session, kept: Kept) -> None:
    answer = ingest(restarted, kept.file)
    assert answer["status"] == "already_ingested"
    assert answer["document_id"] == kept.answer["document_id"]


def test_a_score_is_never_below_zero(restarted: Session, kept: Kept) -> None:
    [hit] = find(restarted, kept.chunks[0]["text"], application_ref="OPPOSITE")
    assert hit["relevance_score"] == 0


def test_a_document_without_its_chunks_is_an_error_of_its_own(restarted: Session) -> None:
    assert [d["document_id"] for d in list_documents(restarted, "ORPHAN")] == [ORPHAN]
    answer = restarted.call("get_document_text", document_id=ORPHAN)
    assert ORPHAN in refusal(answer, "no_chunks")
