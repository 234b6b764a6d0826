"""Policy registry in Redis: the spec's keys as seen by other programs, and failures of Redis."""

import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py

from quinion.errors import BadSetting, RegistryUnavailable, RevisionOverlap
from quinion.model.effective_dates import EffectiveDateResolver
from quinion.model.policy import (
    PolicyCategory,
    PolicyDraft,
    Revision,
    RevisionDraft,
    RevisionEdit,
    RevisionStatus,
    RevisionUpdate,
)
from quinion.model.revisions import Plan, plan_deletion
from quinion.store.policies import PolicyRegistry, open_registry
from quinion.store.policies.redis import RedisStorage
from tests.redis_server import ON_DISK, PROGRAM, RedisServer, redis_server

if PROGRAM is None:
    pytest.skip(
        "redis-server is not installed: the registry in Redis is not tested",
        allow_module_level=True,
    )

NPPF = PolicyDraft("NPPF", "National Planning Policy Framework", PolicyCategory.NATIONAL_POLICY)
REVISION_FIELDS = {
    *("revision_id", "source", "version_label", "effective_from", "effective_to", "status"),
    *("file_path", "file_size_bytes", "page_count", "chunk_count", "notes", "created_at"),
    *("ingested_at", "error"),
}
# Valid data by the spec, as another program might write it.
FOREIGN = {
    "revision_id": "rev_NPPF_2021_07",
    "source": "NPPF",
    "version_label": "July 2021",
    "effective_from": "2021-07-20",
    "effective_to": "2023-09-04",
    "status": "superseded",
    "created_at": "2026-02-14T10:00:00.123456",
    "reviewed_by": "someone",
}
FOREIGN_KEY = "policy_revision:NPPF:rev_NPPF_2021_07"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def server(running: RedisServer) -> RedisServer:
    running.raw.flushall()
    return running


@pytest.fixture
def registry(server: RedisServer) -> Iterator[PolicyRegistry]:
    registry = connect(server.url)
    registry.create_policy(NPPF)
    yield registry
    registry.close()


def connect(url: str) -> PolicyRegistry:
    return open_registry(Path("unused"), url)


def write_foreign(server: RedisServer, **fields: str) -> None:
    server.raw.hset(FOREIGN_KEY, mapping={**FOREIGN, **fields})
    server.raw.zadd("policy_revisions:NPPF", {"rev_NPPF_2021_07": 18828})


class TestKeys:
    def test_keys_types_and_scores_are_those_of_the_spec(
        self, registry: PolicyRegistry, server: RedisServer
    ) -> None:
        registry.create_revision("NPPF", RevisionDraft("September 2023", date(2023, 9, 5)))
        registry.create_revision("NPPF", RevisionDraft("December 2024", date(2024, 12, 12)))
        raw = server.raw
        assert {key: raw.type(key) for key in raw.scan_iter()} == {
            "policies_all": "set",
            "policy:NPPF": "hash",
            "policy_revisions:NPPF": "zset",
            "policy_revision:NPPF:rev_NPPF_2023_09": "hash",
            "policy_revision:NPPF:rev_NPPF_2024_12": "hash",
        }
        assert raw.smembers("policies_all") == {"NPPF"}
        assert raw.zrange("policy_revisions:NPPF", 0, -1, withscores=True) == [
            ("rev_NPPF_2023_09", 19605.0),
            ("rev_NPPF_2024_12", 20069.0),
        ]

    def test_hashes_have_every_field_and_none_is_empty(
        self, registry: PolicyRegistry, server: RedisServer
    ) -> None:
        draft = RevisionDraft("December 2024", date(2024, 12, 12))
        made = registry.create_revision("NPPF", draft).revision
        policy = server.raw.hgetall("policy:NPPF")
        assert made.created_at is not None
        moment = made.created_at.isoformat()
        assert set(policy) == {
            *("source", "title", "description", "category", "created_at", "updated_at")
        }
        assert (policy["category"], policy["updated_at"]) == ("national_policy", moment)
        assert server.raw.hgetall("policy_revision:NPPF:rev_NPPF_2024_12") == {
            "revision_id": "rev_NPPF_2024_12",
            "source": "NPPF",
            "version_label": "December 2024",
            "effective_from": "2024-12-12",
            "effective_to": "",
            "status": "processing",
            "file_path": "",
            "file_size_bytes": "",
            "page_count": "",
            "chunk_count": "0",
            "notes": "",
            "created_at": moment,
            "ingested_at": "",
            "error": "",
        }

    def test_an_edit_moves_the_score_and_a_deletion_takes_all(
        self, registry: PolicyRegistry, server: RedisServer
    ) -> None:
        registry.create_revision("NPPF", RevisionDraft("L", date(2024, 12, 12)))
        moved = RevisionEdit(effective_from=date(2024, 12, 13))
        registry.edit_revision("NPPF", "rev_NPPF_2024_12", moved)
        assert server.raw.zscore("policy_revisions:NPPF", "rev_NPPF_2024_12") == 20070
        registry.delete_revision("NPPF", "rev_NPPF_2024_12")
        assert sorted(server.raw.scan_iter()) == ["policies_all", "policy:NPPF"]

    def test_what_a_crash_of_another_program_left_behind_is_not_mixed_in(
        self, registry: PolicyRegistry, server: RedisServer
    ) -> None:
        server.raw.set("policy_revision:NPPF:rev_NPPF_2024_12", "left behind")
        registry.create_revision("NPPF", RevisionDraft("L", date(2024, 12, 12)))
        assert set(server.raw.hgetall("policy_revision:NPPF:rev_NPPF_2024_12")) == REVISION_FIELDS

    def test_a_tcp_address_works_as_well(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        folder = tmp_path_factory.mktemp("redis")
        with redis_server(folder) as server:
            server.raw.config_set("bind", "127.0.0.1")
            server.raw.config_set("port", str(port := _free_port()))
            registry = connect(f"redis://127.0.0.1:{port}/3")
            registry.create_policy(NPPF)
            assert [policy.source for policy in registry.list_policies()] == ["NPPF"]
            assert server.raw.dbsize() == 0
            registry.close()


class TestOtherPrograms:
    def test_omitted_fields_are_none(self, registry: PolicyRegistry, server: RedisServer) -> None:
        write_foreign(server)
        [made] = registry.list_revisions("NPPF")
        assert (made.file_path, made.page_count, made.chunk_count) == (None, None, 0)
        assert made.created_at is not None
        assert made.created_at.isoformat() == "2026-02-14T10:00:00.123456+00:00"
        assert (
            EffectiveDateResolver(registry).resolve_for_policy("NPPF", date(2023, 9, 4)).revision
            == made
        )

    def test_the_sentinel_of_the_chunks_means_no_end(
        self, registry: PolicyRegistry, server: RedisServer
    ) -> None:
        write_foreign(server, effective_to="9999-12-31")
        assert registry.list_revisions("NPPF")[0].effective_to is None

    def test_a_change_leaves_alone_what_it_does_not_change(
        self, registry: PolicyRegistry, server: RedisServer
    ) -> None:
        write_foreign(server)
        registry.update_revision("NPPF", "rev_NPPF_2021_07", RevisionUpdate(chunk_count=5))
        assert server.raw.hgetall(FOREIGN_KEY) == {**FOREIGN, "chunk_count": "5"}

    def test_where_hash_and_score_disagree_the_hash_is_right(
        self, registry: PolicyRegistry, server: RedisServer
    ) -> None:
        registry.create_revision("NPPF", RevisionDraft("L", date(2024, 12, 12)))
        write_foreign(server)
        server.raw.zadd("policy_revisions:NPPF", {"rev_NPPF_2021_07": 99999})
        listed = [made.revision_id for made in registry.list_revisions("NPPF")]
        assert listed == ["rev_NPPF_2024_12", "rev_NPPF_2021_07"]
        effective = (
            EffectiveDateResolver(registry).resolve_for_policy("NPPF", date(2022, 1, 1)).revision
        )
        assert effective == registry.get_revision("NPPF", "rev_NPPF_2021_07")
        registry.edit_revision("NPPF", "rev_NPPF_2021_07", RevisionEdit(notes="n"))
        assert server.raw.zscore("policy_revisions:NPPF", "rev_NPPF_2021_07") == 18828

    @pytest.mark.parametrize(
        ("command", "arguments"),
        [
            ("HSET", ("policy:NPPF", "title", "Another")),
            ("ZADD", ("policy_revisions:NPPF", "18829", "rev_NPPF_2021_07")),
            ("HSET", (FOREIGN_KEY, "status", "failed")),
        ],
    )
    def test_a_change_starts_again_when_one_of_its_keys_was_written_meanwhile(
        self, registry: PolicyRegistry, server: RedisServer, command: str, arguments: list[str]
    ) -> None:
        write_foreign(server)
        seen = []

        def plan(known: Sequence[Revision]) -> Plan:
            seen.append(known[0].status)
            if len(seen) == 1:
                server.raw.execute_command(command, *arguments)
            return plan_deletion("NPPF", known, "rev_NPPF_2021_07")

        storage = RedisStorage(server.url)
        storage.change("NPPF", plan, datetime.now(UTC))
        storage.close()
        assert len(seen) == 2
        assert seen[1] == ("failed" if "failed" in arguments else "superseded")
        assert registry.list_revisions("NPPF") == []

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("effective_from", "2021-02-30"),
            ("effective_from", "20210720"),
            ("effective_from", ""),
            ("effective_to", "None"),
            ("effective_to", "2021-07-19"),
            ("status", "retired"),
            ("chunk_count", "many"),
            ("source", "OTHER"),
            ("revision_id", "rev_other"),
        ],
    )
    def test_a_revision_that_makes_no_sense_is_an_error_that_names_its_key(
        self, registry: PolicyRegistry, server: RedisServer, field: str, value: str
    ) -> None:
        write_foreign(server, **{field: value})
        before = server.dump()
        for ask in (
            lambda: registry.list_revisions("NPPF"),
            lambda: EffectiveDateResolver(registry).resolve_for_policy("NPPF", date(2022, 1, 1)),
            lambda: registry.create_revision("NPPF", RevisionDraft("L", date(2030, 1, 1))),
        ):
            with pytest.raises(RegistryUnavailable, match=FOREIGN_KEY):
                ask()
        assert server.dump() == before
        assert [policy.source for policy in registry.list_policies()] == ["NPPF"]

    def test_a_revision_that_makes_no_sense_does_not_affect_other_policies(
        self, registry: PolicyRegistry, server: RedisServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        registry.create_policy(PolicyDraft("OTHER", "Other", PolicyCategory.LOCAL_PLAN))
        registry.create_revision("OTHER", RevisionDraft("L", date(2024, 1, 1)))
        write_foreign(server, effective_from="one day")
        for _ in range(2):
            found = registry.list_all_revisions()
            assert {name: len(revisions) for name, revisions in found.items()} == {
                "NPPF": 0,
                "OTHER": 1,
            }
        [warning] = [one for one in caplog.messages if "one day" in one]
        assert FOREIGN_KEY in warning

    @pytest.mark.parametrize(
        ("field", "value", "read"),
        [
            ("category", "borough_plan", "borough_plan"),
            ("category", "", "other"),
            ("category", None, "other"),
            ("created_at", "", None),
            ("created_at", "yesterday", None),
            ("updated_at", None, None),
            ("source", "", "NPPF"),
            ("title", None, ""),
        ],
    )
    def test_an_incomplete_policy_is_read_as_far_as_it_goes(
        self, registry: PolicyRegistry, server: RedisServer, field: str, value: Any, read: Any
    ) -> None:
        if value is None:
            server.raw.hdel("policy:NPPF", field)
        else:
            server.raw.hset("policy:NPPF", field, value)
        [policy] = registry.list_policies()
        assert getattr(policy, field) == read
        assert registry.get_policy("NPPF") == policy
        registry.create_revision("NPPF", RevisionDraft("L", date(2030, 1, 1)))

    @pytest.mark.parametrize(
        ("field", "value"),
        [("created_at", ""), ("created_at", "yesterday"), ("page_count", "-1"), ("source", "")],
    )
    def test_an_incomplete_revision_is_read_as_far_as_it_goes(
        self, registry: PolicyRegistry, server: RedisServer, field: str, value: str
    ) -> None:
        write_foreign(server, **{field: value})
        [revision] = registry.list_revisions("NPPF")
        assert getattr(revision, field) == ("NPPF" if field == "source" else None)
        found = EffectiveDateResolver(registry).resolve_for_policy("NPPF", date(2022, 1, 1))
        assert found.revision == revision

    def test_a_revision_that_another_program_superseded_by_dates_is_superseded(
        self, registry: PolicyRegistry, server: RedisServer
    ) -> None:
        write_foreign(server, status="active", effective_to="2029-12-31")
        later = {**FOREIGN, "revision_id": "rev_NPPF_2030_01", "effective_from": "2030-01-01"}
        later |= {"status": "active", "effective_to": ""}
        server.raw.hset("policy_revision:NPPF:rev_NPPF_2030_01", mapping=later)
        server.raw.zadd("policy_revisions:NPPF", {"rev_NPPF_2030_01": 21915})
        listed = {one.revision_id: one.status for one in registry.list_revisions("NPPF")}
        assert listed == {"rev_NPPF_2030_01": "active", "rev_NPPF_2021_07": "superseded"}
        assert [one.status for one in registry.list_all_revisions()["NPPF"]] == [
            "active",
            "superseded",
        ]

    def test_a_name_without_an_entry_is_an_error_for_its_own_policy_alone(
        self, registry: PolicyRegistry, server: RedisServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        server.raw.zadd("policy_revisions:NPPF", {"rev_gone": 1})
        with pytest.raises(RegistryUnavailable, match="policy_revision:NPPF:rev_gone"):
            registry.list_revisions("NPPF")
        server.raw.sadd("policies_all", "GONE")
        assert [policy.source for policy in registry.list_policies()] == ["NPPF"]
        assert "policy:GONE" in caplog.text

    @pytest.mark.parametrize("key", ["policy:NPPF", "policy_revisions:NPPF", FOREIGN_KEY])
    def test_a_key_of_another_type_is_named(
        self, registry: PolicyRegistry, server: RedisServer, key: str
    ) -> None:
        write_foreign(server)
        server.raw.set(key, "text")
        before = server.dump()
        with pytest.raises(RegistryUnavailable, match=f"{key}.*WRONGTYPE"):
            registry.list_revisions("NPPF")
        with pytest.raises(RegistryUnavailable, match="WRONGTYPE"):
            registry.create_revision("NPPF", RevisionDraft("L", date(2030, 1, 1)))
        assert server.dump() == before

    def test_a_set_of_sources_of_another_type_is_met_before_the_first_write(
        self, server: RedisServer
    ) -> None:
        server.raw.set("policies_all", "text")
        with pytest.raises(RegistryUnavailable, match="WRONGTYPE"):
            connect(server.url).create_policy(NPPF)
        assert list(server.raw.scan_iter()) == ["policies_all"]

    def test_bytes_that_are_not_text_are_shown_and_kept(
        self, registry: PolicyRegistry, server: RedisServer
    ) -> None:
        write_foreign(server)
        with redis_py.Redis.from_url(server.url) as binary:
            binary.hset(FOREIGN_KEY, "notes", b"\xff")
            assert registry.list_revisions("NPPF")[0].notes == "\ufffd"
            registry.update_revision("NPPF", "rev_NPPF_2021_07", RevisionUpdate(page_count=1))
            assert binary.hget(FOREIGN_KEY, "notes") == b"\xff"


class TestUnavailable:
    @pytest.mark.parametrize(
        "url",
        [
            "localhost:6379",
            "http://localhost",
            "redis://:se/cret@localhost",
            "redis://localhost?socket_timeout=soon&password=secret",
            "redis://localhost?no_such_option=1",
        ],
    )
    def test_a_bad_address_names_the_setting_and_not_the_password(self, url: str) -> None:
        with pytest.raises(BadSetting, match="REDIS_URL") as refusal:
            connect(url)
        assert "cret" not in refusal.value.message
        assert refusal.value.__suppress_context__

    def test_no_redis_is_an_error_at_once_that_hides_the_password(self) -> None:
        registry = connect(f"redis://name:secret@127.0.0.1:{_free_port()}/2")
        started = time.monotonic()
        for ask in (
            registry.ping,
            registry.list_policies,
            lambda: registry.create_policy(NPPF),
            lambda: registry.list_revisions("NPPF"),
        ):
            with pytest.raises(RegistryUnavailable, match=r"127\.0\.0\.1:\d+/2") as refusal:
                ask()
            assert "secret" not in refusal.value.message
        assert time.monotonic() - started < 5

    def test_a_redis_that_hangs_is_an_error_after_its_time(
        self, registry: PolicyRegistry, server: RedisServer
    ) -> None:
        impatient = connect(f"{server.url}?socket_timeout=0.2")
        impatient.ping()
        server.process.send_signal(signal.SIGSTOP)
        try:
            started = time.monotonic()
            with pytest.raises(RegistryUnavailable):
                impatient.list_policies()
            with pytest.raises(RegistryUnavailable):
                impatient.create_revision("NPPF", RevisionDraft("L", date(2024, 1, 1)))
            assert time.monotonic() - started < 5
        finally:
            server.process.send_signal(signal.SIGCONT)
        assert [policy.source for policy in impatient.list_policies()] == ["NPPF"]
        impatient.close()

    def test_a_redis_that_refuses_to_write_changes_nothing(
        self, registry: PolicyRegistry, server: RedisServer
    ) -> None:
        before = server.dump()
        server.raw.config_set("maxmemory", "1")
        try:
            with pytest.raises(RegistryUnavailable, match=r"OOM|maxmemory"):
                registry.create_revision("NPPF", RevisionDraft("L", date(2024, 1, 1)))
        finally:
            server.raw.config_set("maxmemory", "0")
        assert server.dump() == before


class TestKilled:
    """kill -9 while four threads append revisions, each ending the one before."""

    THREADS = 4

    @pytest.mark.parametrize("acknowledged", [1, 10, 40])
    def test_nothing_is_half_written_and_nothing_acknowledged_is_lost(
        self, tmp_path_factory: pytest.TempPathFactory, acknowledged: int
    ) -> None:
        with redis_server(tmp_path_factory.mktemp("redis"), ON_DISK) as server:
            registry = connect(server.url)
            registry.create_policy(NPPF)
            made, errors = self.write_until_killed(registry, server, acknowledged)
            assert len(errors) == self.THREADS
            assert all(isinstance(error, RegistryUnavailable) for error in errors)
            server.start()
            self.check(server, made)
            # The pool's connections are dead; the next call opens new ones.
            assert set(made) <= {known.revision_id for known in registry.list_revisions("NPPF")}
            registry.close()

    def write_until_killed(
        self, registry: PolicyRegistry, server: RedisServer, acknowledged: int
    ) -> tuple[list[str], list[Exception]]:
        made: list[str] = []
        errors: list[Exception] = []
        enough = threading.Event()

        def append() -> None:
            while True:
                try:
                    made.append(append_revision(registry))
                except Exception as error:
                    errors.append(error)
                    return
                if len(made) >= acknowledged:
                    enough.set()

        threads = [threading.Thread(target=append) for _ in range(self.THREADS)]
        for thread in threads:
            thread.start()
        assert enough.wait(60)
        server.kill()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        return made, errors

    def check(self, server: RedisServer, made: list[str]) -> None:
        index = server.raw.zrange("policy_revisions:NPPF", 0, -1, withscores=True)
        hashes = [server.raw.hgetall(f"policy_revision:NPPF:{id_}") for id_, _ in index]
        assert len(list(server.raw.scan_iter("policy_revision:*"))) == len(index) >= len(made)
        for (id_, score), entry in zip(index, hashes, strict=True):
            assert set(entry) - {"closed"} == REVISION_FIELDS
            assert entry["revision_id"] == id_
            epoch = date.fromisoformat(entry["effective_from"]) - date(1970, 1, 1)
            assert epoch.days == score
        for earlier, later in pairwise(hashes):
            ends = date.fromisoformat(earlier["effective_to"]) + timedelta(days=1)
            assert ends == date.fromisoformat(later["effective_from"])
        assert hashes[-1]["effective_to"] == ""


def append_revision(registry: PolicyRegistry) -> str:
    """Append a revision that starts ten days after the current newest."""
    while True:
        known = registry.list_revisions("NPPF")
        start = known[0].effective_from + timedelta(days=10) if known else date(2000, 1, 1)
        try:
            made = registry.create_revision("NPPF", RevisionDraft("L", start)).revision
        except RevisionOverlap:
            continue  # another thread was first
        registry.update_revision(
            "NPPF", made.revision_id, RevisionUpdate(status=RevisionStatus.ACTIVE)
        )
        return made.revision_id


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
