"""Registry storage in Redis, with the keys, types and scores of the spec.

    policy:{source}                         hash        one policy
    policy_revision:{source}:{revision_id}  hash        one revision
    policy_revisions:{source}               sorted set  revision ids, by days since the epoch
    policies_all                            set         all sources

Other programs read and write these keys too. A hash always has all fields of the spec, and `None`
is the empty string. A change writes only the fields that it changes.

If another program makes a hash and its score disagree, the hash is right, and the next change
corrects the score: days are looked up in the hashes.

A read is one script, so it sees one snapshot. A change watches every key that it depends on and
writes in one MULTI/EXEC; if another writer was first, it starts again. The keys of one policy
are in several slots, so Redis Cluster is not supported.

A Redis that is down is reported as an error within seconds: there is no retry and no fallback.
Acknowledged changes survive a crash of Redis with `appendonly yes`, `appendfsync always`.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.retry import Retry

from quinion.errors import BadSetting, RegistryUnavailable
from quinion.model.dates import days_since_epoch
from quinion.model.policy import Policy, Revision
from quinion.model.revisions import Plan
from quinion.store.policies.base import Planner, PolicyStorage
from quinion.store.policies.rows import (
    ADDITIONS,
    Plain,
    invalid_entry,
    read_entry,
    row_of,
    warn_of_entry,
)

# Defaults, which an address may override: redis://host:6379/0?socket_timeout=5
CONNECT_TIMEOUT_S = 1.0
SOCKET_TIMEOUT_S = 2.0
CONTENTION_TIMEOUT_S = 10.0
MAX_PAUSE_S = 0.02

_SOURCES = "policies_all"

# ARGV: the highest score, and a source (all registered ones if omitted).
# Reply for each source: the source, the policy's hash, and each revision's id and hash.
_READ = """
local function read(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if reply.err then error(key .. ': ' .. reply.err) end
  return reply
end
local policies = {}
for _, source in ipairs(ARGV[2] and {ARGV[2]} or read('SMEMBERS', 'policies_all')) do
  local entries = {}
  local index = 'policy_revisions:' .. source
  for _, id in ipairs(read('ZREVRANGEBYSCORE', index, ARGV[1], '-inf')) do
    table.insert(entries, {id, read('HGETALL', 'policy_revision:' .. source .. ':' .. id)})
  end
  table.insert(policies, {source, read('HGETALL', 'policy:' .. source), entries})
end
return policies
"""
_ALL_REVISIONS = "+inf"
_NO_REVISIONS = "-inf"

_Entry = TypeVar("_Entry", Policy, Revision)
_Result = TypeVar("_Result")
_Flat = Sequence[str]
"""A hash in a reply of the script: alternating names and values."""


class RedisStorage(PolicyStorage):
    """Storage with a pool of connections; the first is opened at the first use."""

    def __init__(self, url: str) -> None:
        self._redis = _connect(url)
        self._address = _address(self._redis)

    def add_policy(self, policy: Policy) -> bool:
        def attempt(pipe: Pipeline) -> bool:
            key = _policy_key(policy.source)
            pipe.watch(key)
            # Fails if the key has another type, before the first write.
            pipe.sismember(_SOURCES, policy.source)
            if pipe.exists(key):
                return False
            pipe.multi()
            _write(pipe, key, row_of(policy))
            pipe.sadd(_SOURCES, policy.source)
            return True

        return self._transact(attempt)

    def read_policies(self, source: str | None = None) -> list[Policy]:
        with self._failures():
            found = self._read(self._redis, source, _NO_REVISIONS)
        with_keys = ((_policy_key(name), name, policy) for name, policy, _ in found)
        return [
            entry
            for key, name, policy in with_keys
            if (entry := self._entry(Policy, key, policy, skip=source is None, source=name))
        ]

    def read_revisions(self, source: str | None = None) -> dict[str, list[Revision]]:
        with self._failures():
            return self._read_revisions(self._redis, source)

    def change(self, source: str, planner: Planner, now: datetime) -> Plan | None:
        key, index = _policy_key(source), _index_key(source)

        def attempt(pipe: Pipeline) -> Plan | None:
            pipe.watch(key, index)
            pipe.watch(key, *(_revision_key(source, str(id_)) for id_ in pipe.zrange(index, 0, -1)))
            known = self._read_revisions(pipe, source).get(source)
            if known is None:
                return None
            plan = planner(known)
            pipe.multi()
            _write(pipe, key, {"updated_at": now.isoformat()})
            if plan.deletes:
                pipe.zrem(index, plan.revision.revision_id)
                pipe.delete(_revision_key(source, plan.revision.revision_id))
            before = {revision.revision_id: revision for revision in known}
            for revision in plan.written:
                _write_revision(pipe, before.get(revision.revision_id), revision)
            return plan

        return self._transact(attempt)

    def delete_policy(self, source: str) -> bool:
        key, index = _policy_key(source), _index_key(source)

        def attempt(pipe: Pipeline) -> bool:
            pipe.watch(key, index)
            found = bool(pipe.exists(key))
            revisions = [_revision_key(source, str(id_)) for id_ in pipe.zrange(index, 0, -1)]
            pipe.multi()
            pipe.srem(_SOURCES, source)
            pipe.delete(key, index, *revisions)
            return found

        return self._transact(attempt)

    def close(self) -> None:
        self._redis.close()

    def _read(
        self, client: redis.Redis, source: str | None, newest: str
    ) -> list[tuple[str, _Flat, list[tuple[str, _Flat]]]]:
        """Run the script; return the registered policies of its reply."""
        wanted = [] if source is None else [source]
        replies = client.eval(_READ, 0, newest, *wanted)
        for name, policy, _ in replies:
            if not policy and source is None:
                why = f"{_SOURCES} names it, but it does not exist"
                warn_of_entry(self._place(_policy_key(name)), why)
        return [reply for reply in replies if reply[1]]

    def _read_revisions(self, client: redis.Redis, source: str | None) -> dict[str, list[Revision]]:
        skip = source is None

        def read(name: str, id_: str, flat: _Flat) -> Revision | None:
            key = _revision_key(name, id_)
            return self._entry(Revision, key, flat, skip=skip, source=name, revision_id=id_)

        return {
            name: [found for id_, flat in entries if (found := read(name, id_, flat))]
            for name, _, entries in self._read(client, source, _ALL_REVISIONS)
        }

    def _entry(
        self, kind: type[_Entry], key: str, flat: _Flat, *, skip: bool, **named: str
    ) -> _Entry | None:
        """Parse the hash at a key; its fields must agree with the key.

        With `skip`, an invalid entry is None, with a warning in the log.
        """
        place = self._place(key)
        row = dict(zip(flat[::2], flat[1::2], strict=True))
        try:
            for name, wanted in named.items():
                if row.get(name, "") not in ("", wanted):
                    raise invalid_entry(place, f"its {name} is {row[name]!r}")
            return read_entry(kind, {**row, **named} if row else row, place)
        except RegistryUnavailable as error:
            if not skip:
                raise
            warn_of_entry(place, error.message)
            return None

    def _place(self, key: str) -> str:
        return f"{key} (Redis at {self._address})"

    def _transact(self, attempt: Callable[[Pipeline], _Result]) -> _Result:
        """Retry until no other writer interferes between read and write."""
        deadline = time.monotonic() + CONTENTION_TIMEOUT_S
        with self._failures():
            while time.monotonic() < deadline:
                with suppress(redis.WatchError), self._redis.pipeline() as pipe:
                    result = attempt(pipe)
                    pipe.execute()
                    return result
                time.sleep(random.uniform(0, MAX_PAUSE_S))  # noqa: S311 - jitter between writers
        raise RegistryUnavailable(
            f"The policy registry in Redis at {self._address} is changed by other programs too "
            "often. Try again."
        )

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (redis.RedisError, OSError) as error:
            raise RegistryUnavailable(
                f"The policy registry in Redis at {self._address} cannot be used ({error}). "
                "Check that Redis runs there and that REDIS_URL is right."
            ) from error


def _connect(url: str) -> redis.Redis:
    try:
        client = redis.Redis.from_url(
            url,
            decode_responses=True,
            encoding_errors="replace",
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_timeout=SOCKET_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
            # Protocol version 3 would bring unsolicited push messages.
            protocol=2,
        )
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # fails with an unknown option
    except (ValueError, TypeError):
        # Without the cause and its message: they may contain the password.
        raise BadSetting(
            "REDIS_URL is not a Redis address. Write it like redis://localhost:6379/0, "
            "rediss://… for TLS, or unix:///path/to/socket; percent-encode a password."
        ) from None
    return client


def _address(client: redis.Redis) -> str:
    """The address without user name and password."""
    options = client.connection_pool.connection_kwargs
    if "path" in options:
        return str(options["path"])
    return f"{options.get('host', 'localhost')}:{options.get('port', 6379)}/{options.get('db', 0)}"


def _write_revision(pipe: Pipeline, before: Revision | None, after: Revision) -> None:
    key, row = _revision_key(after.source, after.revision_id), row_of(after)
    if before is None:
        pipe.delete(key)  # the index does not have it: a leftover of a crash
        row = {name: value for name, value in row.items() if value or name not in ADDITIONS}
    else:  # keep the other fields exactly as another program wrote them
        row = dict(row.items() - row_of(before).items())
    if row:
        _write(pipe, key, row)
    pipe.zadd(_index_key(after.source), {after.revision_id: days_since_epoch(after.effective_from)})


def _write(pipe: Pipeline, key: str, row: Mapping[str, Plain]) -> None:
    texts = {name: "" if value is None else str(value) for name, value in row.items()}
    pipe.hset(key, mapping=dict[Any, Any](texts))


def _policy_key(source: str) -> str:
    return f"policy:{source}"


def _index_key(source: str) -> str:
    return f"policy_revisions:{source}"


def _revision_key(source: str, revision_id: str) -> str:
    return f"policy_revision:{source}:{revision_id}"
