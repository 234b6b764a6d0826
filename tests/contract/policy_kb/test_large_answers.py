"""No answer is larger than a client can take: 1 MiB, which is where the Python SDK gives up.

Texts are put into the store beforehand, because to ingest them would take minutes.
"""

import math
import sqlite3
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionStatus, RevisionUpdate
from tests.contract.folder import Entry, put
from tests.contract.local import LocalServer
from tests.contract.policy_kb.asking import list_revisions, refusal, revise
from tests.contract.policy_kb.conftest import NewPlace
from tests.contract.policy_kb.serving import Place
from tests.contract.resources import addresses, complete, read_json
from tests.contract.resources import read_parts as read_parts_at
from tests.contract.session import Answer, Session

MIB = 1 << 20
# Each is as long as a chunk may be; the second doubles twice when it is written as JSON in JSON.
TEXTS = {"PLAIN": "words, " * 114, "QUOTED": '"\\' * 400, "SCRIPT": "図面" * 400}
COUNTS = {"PLAIN": 800, "QUOTED": 300, "SCRIPT": 300}
MANY = 4000
PER_PAGE = 50


def text_of(source: str, index: int) -> str:
    return f"{index:05d}{TEXTS[source][5:]}"


def chunk(source: str, index: int) -> Entry:
    text = text_of(source, index)
    angle = math.pi * index / COUNTS[source]
    revision_id = f"rev_{source}_2020_01"
    return Entry(
        id=f"{source}__{revision_id}__Chapter_1__{index:03d}",
        text=text,
        metadata={
            "source": source,
            "source_title": source,
            "revision_id": revision_id,
            "version_label": "January 2020",
            "effective_from": 20200101,
            "effective_to": 99991231,
            "section_ref": "Chapter 1",
            "page_number": 1 + index // PER_PAGE,
            "chunk_index": index,
            # As our own server stores them: sections of one chunk each, inside the chapter.
            "page_numbers": str(1 + index // PER_PAGE),
            "section_path": "Chapter 1",
            "section_index": index,
            "char_start": 0,
        },
        vector=[math.cos(angle), math.sin(angle)],
    )


def multiply(registry: Path) -> None:
    """Many policies, and many revisions of one, as a program makes them that has no time."""
    database = sqlite3.connect(registry)
    database.executescript(f"""
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY})
        INSERT INTO policies SELECT 'MANY_' || i, 'A title of some length, number ' || i,
            description, category, created_at, updated_at
            FROM policies, n WHERE source = 'MANY';
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY})
        INSERT INTO revisions SELECT revision_id || '_' || i, source, version_label,
            date(effective_from, '+' || i || ' days'), date(effective_to, '+' || i || ' days'),
            status, file_path, file_size_bytes, page_count, chunk_count, notes, created_at,
            ingested_at, error, draft, closed FROM revisions, n WHERE source = 'MANY';
    """)
    database.close()


@pytest.fixture(scope="module")
def place(new_place: NewPlace) -> Place:
    place = new_place("sqlite")
    place.home.need_files()
    with place.registry() as registry:
        for source, count in COUNTS.items():
            registry.create_policy(PolicyDraft(source, source, PolicyCategory.LOCAL_PLAN))
            revision_id = revise(registry, source, "January 2020", date(2020, 1, 1))
            done = RevisionUpdate(RevisionStatus.ACTIVE, chunk_count=count)
            registry.update_revision(source, revision_id, done)
        registry.create_policy(PolicyDraft("MANY", "Many", PolicyCategory.LOCAL_PLAN))
        revise(registry, "MANY", "First", date(1900, 1, 1), date(1900, 1, 1))
    multiply(place.home.path / "policies.db")
    chunks = [chunk(source, index) for source in TEXTS for index in range(COUNTS[source])]
    put(place.home, {"policy_docs": chunks})
    return place


@pytest.fixture(scope="module")
def server(place: Place) -> Iterator[LocalServer]:
    with place.serve() as server:
        yield server


@pytest.fixture(scope="module")
def session(server: LocalServer) -> Iterator[Session]:
    """A session that checks the size of every answer."""
    with server.session() as session:
        yield session


def read_parts(session: Session, source: str) -> list[Answer]:
    parts: list[Answer] = []
    start: int | None = 0
    while start is not None:
        answer = session.call(
            "get_policy_section", source=source, section_ref="Chapter 1", from_part=start
        )
        assert answer["status"] == "success"
        parts.append(answer)
        assert answer["next_part"] is None or answer["next_part"] > start
        start = answer["next_part"]
    return parts


@pytest.mark.parametrize("source", TEXTS)
def test_a_long_section_comes_in_parts_that_add_up(session: Session, source: str) -> None:
    parts = read_parts(session, source)
    assert len(parts) > 1
    assert {part["section_ref"] for part in parts} == {"Chapter 1"}
    expected = [text_of(source, index) for index in range(COUNTS[source])]
    assert "\n\n".join(part["text"] for part in parts).split("\n\n") == expected
    pages = {page for part in parts for page in part["page_numbers"]}
    assert pages == set(range(1, 1 + math.ceil(COUNTS[source] / PER_PAGE)))


def test_a_part_is_not_much_smaller_than_it_may_be(session: Session) -> None:
    first = read_parts(session, "PLAIN")[0]
    # It travels twice, as structured content and as text; some room is for what is echoed.
    assert len(first["text"]) * 2 > MIB * 0.6


@pytest.mark.parametrize("source", TEXTS)
@pytest.mark.parametrize("where", ["?date=2020-01-01", ""])
def test_a_long_section_says_where_it_goes_on(session: Session, source: str, where: str) -> None:
    parts = read_parts_at(session, f"policy://{source}/section/Chapter%201{where}")
    assert len(parts) > 1
    # Each part begins with what to cite: the pages of that part among it.
    texts = [part.partition("\n\n")[2] for part in parts]
    assert "\n\n".join(texts) == "\n\n".join(part["text"] for part in read_parts(session, source))
    assert "Chapter 1, pages 1, 2" in parts[0].partition("\n")[0]
    assert "pages 1, 2" not in parts[1].partition("\n")[0]


def test_long_lists_are_resources_that_fit(session: Session) -> None:
    policies = read_json(session, "policy://policies")
    assert (policies["policy_count"], policies["truncated"]) == (MANY + 4, True)
    revisions = read_json(session, "policy://MANY/revisions")
    assert 0 < revisions["next_revision"] == len(revisions["revisions"]) < MANY
    following = read_json(
        session, f"policy://MANY/revisions?from_revision={revisions['next_revision']}"
    )
    assert following["revisions"][0] not in revisions["revisions"]
    assert len(addresses(session)) == 101
    assert len(complete(session, "policy://{source}/revisions", "source", "MANY")) == 100


@pytest.mark.parametrize("source", TEXTS)
def test_too_many_results_keep_the_best_and_say_so(session: Session, source: str) -> None:
    arguments = {"query": "drawing", "sources": [source]}
    answer = session.call("search_policy", **arguments, n_results=1000)
    assert answer["truncated"] is True
    assert 20 < answer["results_count"] == len(answer["results"]) < 1000
    fewer = session.call("search_policy", **arguments, n_results=20)
    assert fewer["truncated"] is False
    scores = [result["relevance_score"] for result in answer["results"]]
    assert scores[:20] == pytest.approx([r["relevance_score"] for r in fewer["results"]])


def test_too_many_results_of_several_queries_are_shared_evenly(session: Session) -> None:
    more = ["maps", "plans", "sections"]
    answer = session.call("search_policy", query="drawing", more_queries=more, n_results=1000)
    assert answer["truncated"] is True
    counts = [answer["results_count"], *(part["results_count"] for part in answer["more"])]
    assert max(counts) - min(counts) <= 1
    assert min(counts) > 20


@pytest.mark.slow
def test_long_queries_leave_room_for_fewer_results(session: Session) -> None:
    queries = {"query": "図" * 20_000, "more_queries": ["面" * 1_000] * 20}
    answer = session.call("search_policy", **queries, n_results=1000)
    assert answer["truncated"] is True
    assert answer["results_count"] > 0


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_policy", {"query": "hedges " * 150_000}),
        ("search_policy", {"query": "hedges", "sources": ["X" * MIB]}),
        ("search_policy", {"query": "hedges", "effective_date": "2" * MIB}),
        ("search_policy", {"query": "x" * 19_000, "more_queries": ["x" * 19_000] * 20}),
        ("search_policy", {"query": "x", "more_queries": ['"' * 19_000] * 20}),
        ("search_policy", {"query": "x", "more_queries": ["x" * MIB]}),
        ("get_policy_section", {"source": "PLAIN", "section_ref": "x" * MIB}),
        ("get_policy_section", {"source": "X" * MIB, "section_ref": "Para 1"}),
        ("list_policy_revisions", {"source": "X" * MIB}),
        ("remove_policy_revision", {"source": "PLAIN", "revision_id": "x" * MIB}),
        ("ingest_policy_revision", {"source": "PLAIN", "revision_id": "x", "file_path": "x" * MIB}),
        ("search_policy", {"query": "hedges", "x" * MIB: 1}),
    ],
    ids=[
        *("query", "sources", "effective_date", "more_queries", "quoted queries", "a long query"),
        *("section_ref", "source of a section", "source", "revision_id", "file_path", "unknown"),
    ],
)
def test_a_huge_argument_does_not_come_back_huge(
    server: LocalServer, tool: str, arguments: Answer
) -> None:
    with server.session("legacy") as session:
        answer = session.call(tool, **arguments)
        if answer["status"] == "error":
            assert len(answer["message"]) < 10_000
        # The connection has survived, and the next call works.
        assert len(list_revisions(session, "PLAIN")) == 1


def test_a_long_list_of_policies_keeps_the_first_and_says_so(session: Session) -> None:
    answer = session.call("list_policy_documents")
    assert answer["policy_count"] == MANY + 4
    assert answer["truncated"] is True
    sources = [policy["source"] for policy in answer["policies"]]
    assert 1000 < len(sources) < MANY
    assert sources == sorted(sources)


def test_a_long_list_of_revisions_comes_in_parts_that_add_up(session: Session) -> None:
    starts: list[str] = []
    start: int | None = 0
    parts = 0
    while start is not None:
        answer = session.call("list_policy_revisions", source="MANY", from_revision=start)
        assert answer["revision_count"] == MANY + 1
        starts += [revision["effective_from"] for revision in answer["revisions"]]
        start = answer["next_revision"]
        parts += 1
    assert parts > 1
    assert len(set(starts)) == MANY + 1
    assert starts == sorted(starts, reverse=True)


def test_a_revision_that_is_not_found_does_not_name_thousands(session: Session) -> None:
    answer = session.call(
        "get_policy_section", source="MANY", section_ref="Para 1", revision_id="none"
    )
    assert len(refusal(answer, "section_not_found")) < 10_000
