"""The registry in Redis: the spec's keys, others who write them, and a Redis that fails."""

import signal
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from quinion.store.policies import PolicyRegistry
from tests.contract.conftest import NewHome
from tests.contract.local import LocalServer, Shared
from tests.contract.policy_kb.asking import (
    chunks_of,
    find,
    found_on,
    ingest,
    ingest_well,
    list_policies,
    list_revisions,
    refusal,
    register,
    remove,
    revise,
)
from tests.contract.policy_kb.policies import leaflet, scanned
from tests.contract.policy_kb.serving import Place
from tests.contract.session import Session
from tests.redis_server import ON_DISK, PROGRAM, RedisServer, redis_server

if PROGRAM is None:
    pytest.skip(
        "redis-server is not installed: the registry in Redis is not tested",
        allow_module_level=True,
    )

AT_ONCE_S = 5.0
START = date(2020, 1, 1)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis that may be killed: what it has acknowledged, it has afterwards."""
    with redis_server(tmp_path_factory.mktemp("redis"), ON_DISK) as server:
        yield server


@pytest.fixture(scope="module")
def place(new_home: NewHome, redis: RedisServer, shared: Shared) -> Place:
    return Place(new_home(), shared, redis.url)


@pytest.fixture(scope="module")
def server(place: Place) -> Iterator[LocalServer]:
    with place.serve() as server:
        yield server


@pytest.fixture(scope="module")
def session(server: LocalServer) -> Iterator[Session]:
    with server.session() as session:
        yield session


@pytest.fixture(scope="module")
def registry(place: Place) -> Iterator[PolicyRegistry]:
    with place.registry() as registry:
        yield registry


@pytest.fixture
def raw(redis: RedisServer) -> Any:
    """How another program sees Redis."""
    return redis.raw


@pytest.fixture
def revision(session: Session, registry: PolicyRegistry, source: str, tmp_path: Path) -> str:
    """A revision with a text, of the test's own policy."""
    revision_id = revise(registry, source, "A", START)
    ingest_well(session, source, revision_id, leaflet(tmp_path / "a.pdf", "A"))
    return revision_id


def calls(source: str, revision_id: str, file: Path) -> list[tuple[str, dict[str, object]]]:
    """A call of each tool, and of a search with each filter."""
    one: dict[str, object] = {"source": source, "revision_id": revision_id}
    return [
        ("list_policy_documents", {}),
        ("list_policy_revisions", {"source": source}),
        ("search_policy", {"query": "hedges"}),
        ("search_policy", {"query": "hedges", "sources": [source]}),
        ("search_policy", {"query": "hedges", "effective_date": "2024-03-15"}),
        ("get_policy_section", {"source": source, "section_ref": "Para 1.1"}),
        ("get_policy_section", {**one, "section_ref": "Para 1.1"}),
        ("ingest_policy_revision", {**one, "file_path": str(file)}),
        ("remove_policy_revision", one),
    ]


def test_an_ingested_revision_has_every_field_of_the_spec(
    raw: Any, source: str, revision: str, tmp_path: Path
) -> None:
    assert raw.sismember("policies_all", source)
    policy = raw.hgetall(f"policy:{source}")
    assert set(policy) == {
        *("source", "title", "description", "category", "created_at", "updated_at")
    }
    assert policy["category"] == "local_guidance"
    assert raw.zrange(f"policy_revisions:{source}", 0, -1, withscores=True) == [
        (revision, (START - date(1970, 1, 1)).days)
    ]
    entry = raw.hgetall(f"policy_revision:{source}:{revision}")
    assert entry.pop("created_at") <= entry.pop("ingested_at")
    assert entry == {
        "revision_id": revision,
        "source": source,
        "version_label": "A",
        "effective_from": "2020-01-01",
        "effective_to": "",
        "status": "active",
        "file_path": str(tmp_path / "a.pdf"),
        "file_size_bytes": str((tmp_path / "a.pdf").stat().st_size),
        "page_count": "2",
        "chunk_count": "5",
        "notes": "",
        "error": "",
    }


def test_nothing_of_the_registry_is_in_the_home(place: Place, revision: str) -> None:
    assert not (place.home.path / "policies.db").exists()


def test_what_another_program_registers_is_listed_and_can_be_ingested(
    raw: Any, session: Session, tmp_path: Path
) -> None:
    now = "2026-02-14T10:00:00"
    raw.hset(
        "policy:FOREIGN",
        mapping={
            "source": "FOREIGN",
            "title": "A title",
            "description": "",
            "category": "county_strategy",
            "created_at": now,
            "updated_at": now,
        },
    )
    raw.sadd("policies_all", "FOREIGN")
    key = "policy_revision:FOREIGN:rev_FOREIGN_2021_07"
    raw.hset(
        key,
        mapping={
            "revision_id": "rev_FOREIGN_2021_07",
            "source": "FOREIGN",
            "version_label": "July 2021",
            "effective_from": "2021-07-20",
            "status": "processing",
            "created_at": now,
        },
    )
    raw.zadd("policy_revisions:FOREIGN", {"rev_FOREIGN_2021_07": 18828})
    assert {"source": "FOREIGN", "title": "A title", "category": "county_strategy"} in (
        list_policies(session)
    )
    file = leaflet(tmp_path / "a.pdf", "A")
    ingest_well(session, "FOREIGN", "rev_FOREIGN_2021_07", file)
    assert found_on(session, "FOREIGN", "2021-07-20") == {"rev_FOREIGN_2021_07"}
    assert raw.hget(key, "status") == "active"
    assert raw.hget(key, "chunk_count") == "5"


def test_dates_that_another_program_writes_hold_for_the_next_search(
    raw: Any, session: Session, source: str, revision: str
) -> None:
    key = f"policy_revision:{source}:{revision}"
    assert found_on(session, source, "2024-03-15") == {revision}
    raw.hset(key, "effective_to", "2024-03-14")
    assert found_on(session, source, "2024-03-15") == set()
    assert found_on(session, source, "2024-03-14") == {revision}
    raw.hset(key, mapping={"effective_from": "2024-03-15", "effective_to": ""})
    raw.zadd(f"policy_revisions:{source}", {revision: 19797})
    assert found_on(session, source, "2024-03-14") == set()
    assert found_on(session, source, "2024-03-15") == {revision}
    assert found_on(session, source, "2999-01-01") == {revision}
    raw.hset(key, "effective_to", "9999-12-31")  # the far future, as chunks have it
    assert found_on(session, source, "9999-12-31") == {revision}


def test_a_supersession_by_another_program_holds_for_the_next_search(
    raw: Any, session: Session, source: str, revision: str, tmp_path: Path
) -> None:
    newer = f"rev_{source}_2024_12"
    now = "2026-02-14T10:00:00"
    with raw.pipeline() as pipe:
        key = f"policy_revision:{source}:{revision}"
        pipe.hset(key, mapping={"effective_to": "2024-12-11", "status": "superseded"})
        pipe.hset(
            f"policy_revision:{source}:{newer}",
            mapping={
                "revision_id": newer,
                "source": source,
                "version_label": "B",
                "effective_from": "2024-12-12",
                "effective_to": "",
                "status": "processing",
                "created_at": now,
            },
        )
        pipe.zadd(f"policy_revisions:{source}", {newer: 20069})
        pipe.execute()
    assert found_on(session, source, "2024-12-11") == {revision}
    assert found_on(session, source, "2024-12-12") == set()
    ingest_well(session, source, newer, leaflet(tmp_path / "b.pdf", "B"))
    assert found_on(session, source, "2024-12-12") == {newer}


def test_where_another_program_lets_two_overlap_the_later_one_holds(
    raw: Any, registry: PolicyRegistry, session: Session, source: str, tmp_path: Path
) -> None:
    a = revise(registry, source, "A", START)
    b = revise(registry, source, "B", date(2022, 1, 1))
    for revision_id in (a, b):
        file = leaflet(tmp_path / f"{revision_id}.pdf", revision_id)
        ingest_well(session, source, revision_id, file)
    raw.hset(f"policy_revision:{source}:{a}", "effective_to", "")
    assert found_on(session, source, "2021-12-31") == {a}
    assert found_on(session, source, "2022-01-01") == {b}


@pytest.mark.parametrize(
    ("field", "value"),
    [("effective_from", "soon"), ("status", "draft"), ("effective_to", "2019-12-31")],
)
def test_an_entry_that_makes_no_sense_is_an_error_for_its_own_policy_alone(
    raw: Any,
    registry: PolicyRegistry,
    session: Session,
    server: LocalServer,
    source: str,
    revision: str,
    tmp_path: Path,
    field: str,
    value: str,
) -> None:
    other = register(registry)
    ingest_well(
        session, other, revise(registry, other, "B", START), leaflet(tmp_path / "b.pdf", "B")
    )
    key = f"policy_revision:{source}:{revision}"
    good = raw.hget(key, field)
    raw.hset(key, field, value)
    before = len(server.log)
    dated: dict[str, Any] = {"query": "hedges", "effective_date": "2024-03-15", "n_results": 1000}
    try:
        answers = [
            session.call("search_policy", **dated, sources=[source]),
            session.call("list_policy_revisions", source=source),
        ]
        found = {one["source"] for one in find(session, **dated)}
    finally:
        raw.hset(key, field, good)
    for answer in answers:
        assert key in refusal(answer, "registry_unavailable")
    assert other in found
    assert source not in found
    assert (
        f"WARNING quinion.store.policies.rows: The policy registry's entry {key}"
        in (server.log[before:])
    )
    assert found_on(session, source, "2024-03-15") == {revision}


@pytest.mark.parametrize(
    ("field", "value", "category"),
    [
        ("updated_at", "", "local_guidance"),
        ("updated_at", None, "local_guidance"),
        ("created_at", "", "local_guidance"),
        ("created_at", None, "local_guidance"),
        ("category", "other", "other"),
        ("category", "borough_plan", "borough_plan"),
        ("category", None, "other"),
    ],
)
def test_an_incomplete_policy_of_another_program_is_listed_as_far_as_it_goes(
    raw: Any,
    session: Session,
    server: LocalServer,
    source: str,
    revision: str,
    field: str,
    value: str | None,
    category: str,
) -> None:
    before = len(server.log)
    if value is None:
        raw.hdel(f"policy:{source}", field)
    else:
        raw.hset(f"policy:{source}", field, value)
    listed = {policy["source"]: policy["category"] for policy in list_policies(session)}
    assert listed[source] == category
    assert len(listed) > 1
    assert f"policy:{source}" in server.log[before:]
    assert field in server.log[before:]
    assert found_on(session, source, "2024-03-15") == {revision}


def test_a_revision_that_another_program_superseded_by_dates_is_shown_as_superseded(
    raw: Any, session: Session, source: str, revision: str
) -> None:
    key, newer = f"policy_revision:{source}:{revision}", f"rev_{source}_2024_12"
    raw.hset(key, mapping={"effective_to": "2024-12-11", "status": "active"})
    entry = raw.hgetall(key) | {
        "revision_id": newer,
        "effective_from": "2024-12-12",
        "effective_to": "",
        "chunk_count": "0",
    }
    raw.hset(f"policy_revision:{source}:{newer}", mapping=entry)
    raw.zadd(f"policy_revisions:{source}", {newer: 20069})
    listed = {one["revision_id"]: one["status"] for one in list_revisions(session, source)}
    assert listed == {newer: "active", revision: "superseded"}


def test_a_redis_that_is_gone_is_an_error_at_once_and_heals(
    redis: RedisServer,
    session: Session,
    place: Place,
    source: str,
    revision: str,
    tmp_path: Path,
) -> None:
    before = chunks_of(session, source, revision)
    redis.kill()
    try:
        for tool, arguments in calls(source, revision, tmp_path / "a.pdf"):
            begun = time.monotonic()
            message = refusal(session.call(tool, **arguments), "registry_unavailable")
            assert time.monotonic() - begun < AT_ONCE_S
            assert "Redis" in message and "REDIS_URL" in message
            # Nothing falls back on a registry of its own.
        assert not (place.home.path / "policies.db").exists()
    finally:
        redis.start()
    assert [r["chunk_count"] for r in list_revisions(session, source)] == [5]
    assert chunks_of(session, source, revision) == before
    assert found_on(session, source, "2024-03-15") == {revision}


def test_a_redis_that_hangs_is_an_error_at_once_for_all_who_ask(
    redis: RedisServer, session: Session, source: str, revision: str
) -> None:
    find(session, "anything")
    redis.process.send_signal(signal.SIGSTOP)
    try:
        begun = time.monotonic()
        jobs = [
            session.start("search_policy", query="hedges", effective_date="2024-03-15")
            for _ in range(5)
        ]
        for job in jobs:
            refusal(job.result(), "registry_unavailable")
        assert time.monotonic() - begun < AT_ONCE_S
    finally:
        redis.process.send_signal(signal.SIGCONT)
    assert found_on(session, source, "2024-03-15") == {revision}


def test_a_redis_that_dies_during_an_ingest_leaves_no_chunks(
    redis: RedisServer,
    session: Session,
    registry: PolicyRegistry,
    source: str,
    tmp_path: Path,
) -> None:
    revision_id = revise(registry, source, "A", START)
    scan = scanned(tmp_path / "scan.pdf", 3)
    job = session.start(
        "ingest_policy_revision", source=source, revision_id=revision_id, file_path=str(scan)
    )
    job.wait_for_progress()
    redis.kill()
    try:
        refusal(job.result(), "registry_unavailable")
    finally:
        redis.start()
    [listed] = list_revisions(session, source)
    assert (listed["status"], listed["chunk_count"]) == ("processing", 0)
    assert found_on(session, source, None) == set()
    ingest_well(session, source, revision_id, leaflet(tmp_path / "a.pdf", "A"))
    assert found_on(session, source, "2024-03-15") == {revision_id}


def test_a_redis_that_dies_during_a_reindex_leaves_what_was_there(
    redis: RedisServer,
    session: Session,
    registry: PolicyRegistry,
    source: str,
    revision: str,
    tmp_path: Path,
) -> None:
    before = chunks_of(session, source, revision), registry.get_revision(source, revision)
    scan = scanned(tmp_path / "scan.pdf", 3)
    job = session.start(
        "ingest_policy_revision", source=source, revision_id=revision, file_path=str(scan)
    )
    job.wait_for_progress()
    redis.kill()
    try:
        refusal(job.result(), "registry_unavailable")
    finally:
        redis.start()
    after = chunks_of(session, source, revision), registry.get_revision(source, revision)
    assert after == before


def test_a_server_that_is_started_before_its_redis_works_once_that_is_there(
    new_home: NewHome, shared: Shared, tmp_path: Path
) -> None:
    (tmp_path / "redis").mkdir()
    with redis_server(tmp_path / "redis", ON_DISK) as late:
        late.kill()
        place = Place(new_home(), shared, late.url)
        with place.session() as session:
            refusal(session.call("list_policy_documents"), "registry_unavailable")
            refusal(session.call("search_policy", query="hedges"), "registry_unavailable")
            late.start()
            assert list_policies(session) == []
            with place.registry() as registry:
                source = register(registry)
                revision_id = revise(registry, source, "A", START)
            ingest_well(session, source, revision_id, leaflet(tmp_path / "a.pdf", "A"))
            assert found_on(session, source, "2024-03-15") == {revision_id}
        late.kill()
        ended = place.run("policy", "list")
        assert ended.returncode == 1
        [line] = ended.stderr.splitlines()
        assert "REDIS_URL" in line


def test_a_removal_without_redis_changes_nothing(
    redis: RedisServer, session: Session, source: str, revision: str, tmp_path: Path
) -> None:
    redis.kill()
    try:
        answer = session.call("remove_policy_revision", source=source, revision_id=revision)
        refusal(answer, "registry_unavailable")
        refusal(ingest(session, source, revision, tmp_path / "a.pdf"), "registry_unavailable")
    finally:
        redis.start()
    assert len(chunks_of(session, source, revision)) == 5
    assert remove(session, source, revision) == 5
