"""What is on the disk, as another program finds it: the collection, its ids and its metadata."""

import math
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from quinion.embed.local.embedder import LocalEmbedder
from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionStatus, RevisionUpdate
from tests.contract import folder
from tests.contract.folder import DIMENSIONS, Entry
from tests.contract.policy_kb import policies
from tests.contract.policy_kb.asking import (
    CHUNK_FIELDS,
    chunks_of,
    find,
    found_on,
    ingest_well,
    read,
    remove,
    revise,
)
from tests.contract.policy_kb.conftest import NewPlace
from tests.contract.policy_kb.serving import AGREE, Place
from tests.contract.policy_kb.storing import COLLECTION, OPEN_END, foreign_chunk
from tests.contract.process import MIRRORED
from tests.contract.session import Answer

QUINION_SERVE = ("quinion", "serve", "policy-kb", "--port", "0")
LTN = PolicyDraft("LTN_1_20", "Cycle Infrastructure Design", PolicyCategory.NATIONAL_GUIDANCE)
OLD, NEW = "rev_LTN_1_20_2020_07", "rev_LTN_1_20_2024_02"


@dataclass(frozen=True)
class Kept:
    """One life of a server: what it answered, and what its folder holds after its end."""

    address: str
    answer: Answer
    chunks: list[Answer]
    hits: list[Answer]
    stored: dict[str, list[Entry]]

    def of(self, revision_id: str) -> list[Entry]:
        """The chunks of a revision, in the order of the document."""
        mine = [e for e in self.stored[COLLECTION] if e.metadata["revision_id"] == revision_id]
        return sorted(mine, key=lambda entry: entry.metadata["chunk_index"])


@pytest.fixture(scope="module")
def place(new_place: NewPlace) -> Place:
    return new_place("sqlite")


@pytest.fixture(scope="module")
def kept(place: Place, files: Path) -> Kept:
    place.home.need_files()
    with (
        place.serve_http({"POLICY_KB_PORT": "1", **MIRRORED}, QUINION_SERVE) as server,
        server.session() as session,
        place.registry() as registry,
    ):
        registry.create_policy(LTN)
        revise(registry, "LTN_1_20", "July 2020", date(2020, 7, 27))
        answer = ingest_well(session, "LTN_1_20", OLD, policies.guidance(files / "old.pdf"))
        revise(registry, "LTN_1_20", "February 2024", date(2024, 2, 29))
        ingest_well(session, "LTN_1_20", NEW, policies.leaflet(files / "new.pdf", "2024"))
        assert found_on(session, "LTN_1_20", "2024-03-15") == {NEW}
        chunks = chunks_of(session, "LTN_1_20", OLD)
        hits = find(session, policies.TABLE, n_results=1000)
        address = server.address
    return Kept(address, answer, chunks, hits, folder.read(place.home.chroma))


@pytest.mark.slow
def test_quinion_serve_is_the_same_server_and_its_port_option_counts_more(kept: Kept) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d{4,5}", kept.address)


def test_there_is_the_collection_of_the_contract(kept: Kept) -> None:
    assert set(kept.stored) == {COLLECTION}
    assert len(kept.of(OLD)) == kept.answer["chunks_created"] > 15
    assert len(kept.of(NEW)) == 5


def test_every_chunk_is_stored_under_its_id_with_its_text(kept: Kept) -> None:
    stored = {entry.id: entry.text for entry in kept.of(OLD)}
    assert stored == {chunk["chunk_id"]: chunk["text"] for chunk in kept.chunks}


def test_an_id_is_made_of_source_revision_section_and_index(kept: Kept) -> None:
    for index, entry in enumerate(kept.of(OLD)):
        section = re.sub(r"\W+", "_", entry.metadata["section_ref"])
        assert entry.id == f"LTN_1_20__{OLD}__{section}__{index:03d}"


def test_every_field_of_a_chunk_is_stored_with_its_type(kept: Kept) -> None:
    for entry in kept.stored[COLLECTION]:
        fields = {name: entry.metadata[name] for name in CHUNK_FIELDS}
        assert {name: type(value) for name, value in fields.items()} == CHUNK_FIELDS
        assert fields["source"] == "LTN_1_20"
        assert fields["source_title"] == "Cycle Infrastructure Design"


def test_dates_are_integers_and_an_open_end_is_the_far_future(kept: Kept) -> None:
    for revision_id, label, first, last in (
        (OLD, "July 2020", 20200727, 20240228),
        (NEW, "February 2024", 20240229, OPEN_END),
    ):
        for entry in kept.of(revision_id):
            assert entry.metadata["version_label"] == label
            assert entry.metadata["effective_from"] == first
            assert entry.metadata["effective_to"] == last


def test_indices_are_sequential_and_pages_and_sections_are_those_of_the_document(
    kept: Kept,
) -> None:
    chunks = kept.of(OLD)
    assert [entry.metadata["chunk_index"] for entry in chunks] == list(range(len(chunks)))
    pages = [entry.metadata["page_number"] for entry in chunks]
    assert set(pages) == {1, 2, 3, 4, 5, 6}
    by_section = {entry.metadata["section_ref"]: entry for entry in chunks}
    table = by_section["Table 5-2"]
    assert (table.text, table.metadata["page_number"]) == (policies.TABLE, 4)
    assert {"Chapter 5", "Para 4.1", "Figure 5.1", "Footnote 1"} <= set(by_section)
    found = {chunk["chunk_id"]: chunk["page_number"] for chunk in kept.chunks}
    assert found == {entry.id: entry.metadata["page_number"] for entry in chunks}


def test_chunk_vectors_have_384_dimensions_and_unit_length(kept: Kept) -> None:
    for entry in kept.stored[COLLECTION]:
        assert len(entry.vector) == DIMENSIONS
        assert math.hypot(*entry.vector) == pytest.approx(1, abs=1e-4)


def test_a_relevance_score_is_computed_from_the_squared_distance(kept: Kept, models: Path) -> None:
    query = LocalEmbedder(models, numerics=None).embed_query(policies.TABLE)
    vectors = {entry.id: entry.vector for entry in kept.stored[COLLECTION]}
    assert len(kept.hits) == len(vectors)
    for hit in kept.hits:
        distance = math.dist(query, vectors[hit["chunk_id"]]) ** 2
        assert hit["relevance_score"] == pytest.approx(max(0, 1 - distance / 2), abs=1e-4)
    assert kept.hits[0]["text"] == policies.TABLE


@pytest.mark.slow
def test_supersession_rewrites_the_dates_on_chunks_in_the_same_operation(
    kept: Kept, place: Place
) -> None:
    # By the command line, while no server runs.
    ended = place.run(
        *("policy", "revise", "LTN_1_20", "--label", "Third", "--from", "2026-01-01"),
        variables=MIRRORED,
    )
    assert ended.returncode == 0, ended.stderr
    before = {entry.id: entry for entry in kept.stored[COLLECTION]}
    after = {entry.id: entry for entry in folder.read(place.home.chroma)[COLLECTION]}
    assert set(after) == set(before)
    for entry in after.values():
        old = before[entry.id]
        assert (entry.text, entry.vector) == (old.text, old.vector)
        end = {OLD: 20240228, NEW: 20251231}[entry.metadata["revision_id"]]
        assert entry.metadata == {**old.metadata, "effective_to": end}
    with place.session() as session:
        # The scores of another process may differ in the last digits.
        assert chunks_of(session, "LTN_1_20", OLD) == [
            {**chunk, "relevance_score": pytest.approx(chunk["relevance_score"], abs=1e-5)}
            for chunk in kept.chunks
        ]
        assert found_on(session, "LTN_1_20", "2024-02-28") == {OLD}
        assert found_on(session, "LTN_1_20", "2025-12-31") == {NEW}
        assert found_on(session, "LTN_1_20", "2026-01-01") == set()
        assert read(session, "LTN_1_20", "Para 5.3", revision_id=OLD)["text"] == policies.LONG
    assert place.check() == AGREE


@pytest.mark.slow
def test_chunks_of_a_program_that_keeps_to_the_spec_are_found_read_and_removed(
    new_place: NewPlace,
) -> None:
    place = new_place("sqlite")
    one = "FOREIGN", "rev_FOREIGN_2021_01"
    chunks = [
        foreign_chunk(*one, 0, "Chapter 1", 3, "The first chunk."),
        foreign_chunk(*one, 1, "Table 1-1", 3, "A table."),
        foreign_chunk(*one, 2, "Chapter 1", 5, "The second chunk."),
        foreign_chunk(*one, 3, "Chapter 1", 4, "The third chunk."),
    ]
    folder.write(place.home.chroma, {COLLECTION: chunks})
    place.home.import_chroma()
    with place.registry() as registry, place.session() as session:
        registry.create_policy(PolicyDraft("FOREIGN", "Foreign", PolicyCategory.LOCAL_PLAN))
        revision_id = revise(registry, "FOREIGN", "January 2021", date(2021, 1, 1))
        done = RevisionUpdate(RevisionStatus.ACTIVE, page_count=5, chunk_count=4)
        registry.update_revision("FOREIGN", revision_id, done)
        found = find(session, "table", sources=["FOREIGN"], effective_date="2024-03-15")
        assert {result["text"] for result in found} == {chunk.text for chunk in chunks}
        assert found_on(session, "FOREIGN", "2020-12-31") == set()
        answer = read(session, "FOREIGN", "Chapter 1")
        assert answer["text"] == "The first chunk.\n\nThe second chunk.\n\nThe third chunk."
        assert answer["page_numbers"] == [3, 4, 5]
        assert "evidence" not in answer
        assert remove(session, "FOREIGN", revision_id) == 4
        assert registry.get_revision("FOREIGN", revision_id).chunk_count == 0
