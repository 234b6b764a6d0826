"""The registry in Redis, with the keys, types and scores of the spec.

    policy:{source}                         hash        one policy
    policy_revision:{source}:{revision_id}  hash        one revision
    policy_revisions:{source}               sorted set  revision ids, by days since the epoch
    policies_all                            set         all sources

Other programs read and write these keys too. Every field of a hash is always there, and
None is the empty string, so that neither `entry["effective_to"]` nor `entry.get(…) or None`
surprises them. A change writes only the fields that it changes.

One day is looked up by score, as the spec has it; all else goes by the hashes. Where another
program lets the two disagree, the hash is right, and the next change mends the score.

A read is one script, so it sees one moment. A change watches every key that it decides on
and writes in one MULTI/EXEC; when another writer was first, it starts again. The keys of
one policy lie in several slots, so a Redis Cluster will not do.

Redis that is down is an error within seconds: nothing is retried and nothing falls back.
How much of what Redis has acknowledged survives a crash of its own is for its configuration
to say (all of it with `appendonly yes` and `appendfsync always`).
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.retry import Retry

from quinion.errors import BadSetting, RegistryUnavailable
from quinion.model.dates import days_since_epoch
from quinion.model.policy import Policy, Revision
from quinion.model.revisions import Plan
from quinion.store.registry.port import Planner
from quinion.store.registry.rows import (
    Plain,
    changes,
    nonsense,
    read_policy,
    read_revision,
    row_of,
)

# An address may set its own: redis://host:6379/0?socket_timeout=5
CONNECT_TIMEOUT_S = 1.0
SOCKET_TIMEOUT_S = 2.0
CONTENTION_TIMEOUT_S = 10.0
LONGEST_PAUSE_S = 0.02

_SOURCES = "policies_all"
_NOT_THERE = f"{_SOURCES} names it, but it is not there"

# ARGV: the highest score wanted, and a source (all that are registered when it is left out).
# Replies, for each source: it, the policy's hash, and each revision's id and hash.
_READ = """
local function read(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if reply.err then error(key .. ': ' .. reply.err) end
  return reply
end
local shelves = {}
for _, source in ipairs(ARGV[2] and {ARGV[2]} or read('SMEMBERS', 'policies_all')) do
  local entries = {}
  local index = 'policy_revisions:' .. source
  for _, id in ipairs(read('ZREVRANGEBYSCORE', index, ARGV[1], '-inf')) do
    table.insert(entries, {id, read('HGETALL', 'policy_revision:' .. source .. ':' .. id)})
  end
  table.insert(shelves, {source, read('HGETALL', 'policy:' .. source), entries})
end
return shelves
"""
_ALL_REVISIONS = "+inf"
_NO_REVISIONS = "-inf"

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Shelf:
    """What is kept of one policy, to the letter."""

    source: str
    policy: Mapping[str, str]
    revisions: Mapping[str, Mapping[str, str]]


class RedisShelves:
    """A pool of connections; the first is made at the first use."""

    def __init__(self, url: str) -> None:
        self._redis = _client(url)
        self._address = _address(self._redis)

    def add_policy(self, policy: Policy) -> bool:
        """Keep a new policy; False, and nothing done, where its source is taken."""
        return self._transact(lambda pipe: self._add_policy(pipe, policy))

    def read_policies(self, source: str | None = None) -> list[Policy]:
        """All policies, or the one of that source, if there is one."""
        with self._failures():
            shelves = self._read(self._redis, source, _NO_REVISIONS)
        return [self._policy(shelf) for shelf in shelves]

    def read_revisions(
        self, source: str | None = None, started_by: date | None = None
    ) -> dict[str, list[Revision]]:
        """The revisions of all policies or of one, by source; those begun by that day only."""
        newest = _ALL_REVISIONS if started_by is None else str(days_since_epoch(started_by))
        with self._failures():
            shelves = self._read(self._redis, source, newest)
        return {shelf.source: self._revisions(shelf) for shelf in shelves}

    def change(self, source: str, planner: Planner, now: datetime) -> Plan | None:
        """Plan from the revisions that are there, and write what the plan says."""
        return self._transact(lambda pipe: self._change(pipe, source, planner, now))

    def ping(self) -> None:
        """Do nothing, if Redis answers."""
        with self._failures():
            self._redis.ping()

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()

    def _add_policy(self, pipe: Pipeline, policy: Policy) -> bool:
        key = _policy_key(policy.source)
        _watch(pipe, [key])
        # Asked only so that a key of another type is met before the first write, not after it.
        pipe.sismember(_SOURCES, policy.source)
        if pipe.exists(key):
            return False
        pipe.multi()
        pipe.hset(key, mapping=_texts(row_of(policy)))
        pipe.sadd(_SOURCES, policy.source)
        pipe.execute()
        return True

    def _change(self, pipe: Pipeline, source: str, planner: Planner, now: datetime) -> Plan | None:
        index = _index_key(source)
        _watch(pipe, [_policy_key(source), index])
        _watch(pipe, [_revision_key(source, str(id_)) for id_ in pipe.zrange(index, 0, -1)])
        shelves = self._read(pipe, source, _ALL_REVISIONS)
        if not shelves:
            return None
        before = {revision.revision_id: revision for revision in self._revisions(shelves[0])}
        plan = planner(list(before.values()))
        pipe.multi()
        pipe.hset(_policy_key(source), "updated_at", now.isoformat())
        if plan.deletes:
            pipe.zrem(index, plan.revision.revision_id)
            pipe.delete(_revision_key(source, plan.revision.revision_id))
        for revision in plan.written:
            _write(pipe, before.get(revision.revision_id), revision)
        pipe.execute()
        return plan

    def _read(self, client: redis.Redis, source: str | None, newest: str) -> list[_Shelf]:
        wanted = [] if source is None else [source]
        shelves = [
            _Shelf(name, _pairs(policy), {id_: _pairs(entry) for id_, entry in revisions})
            for name, policy, revisions in client.eval(_READ, 0, newest, *wanted)
        ]
        for shelf in shelves:
            if not shelf.policy and source is None:
                raise nonsense(self._place(_policy_key(shelf.source)), _NOT_THERE)
        return [shelf for shelf in shelves if shelf.policy]

    def _policy(self, shelf: _Shelf) -> Policy:
        place = self._place(_policy_key(shelf.source))
        policy = read_policy(shelf.policy, place)
        if policy.source != shelf.source:
            raise nonsense(place, f"its source is {policy.source!r}")
        return policy

    def _revisions(self, shelf: _Shelf) -> list[Revision]:
        return [self._revision(shelf, id_) for id_ in shelf.revisions]

    def _revision(self, shelf: _Shelf, revision_id: str) -> Revision:
        place = self._place(_revision_key(shelf.source, revision_id))
        revision = read_revision(shelf.revisions[revision_id], place)
        if (revision.source, revision.revision_id) != (shelf.source, revision_id):
            raise nonsense(place, f"it is of {revision.source!r}, {revision.revision_id!r}")
        return revision

    def _place(self, key: str) -> str:
        return f"{key} (Redis at {self._address})"

    def _transact(self, attempt: Callable[[Pipeline], _Result]) -> _Result:
        """Attempt until no other writer comes between the reading and the writing."""
        deadline = time.monotonic() + CONTENTION_TIMEOUT_S
        while True:
            try:
                with self._failures(), self._redis.pipeline() as pipe:
                    return attempt(pipe)
            except _Outrun:
                if time.monotonic() > deadline:
                    raise
            time.sleep(random.uniform(0, LONGEST_PAUSE_S))  # noqa: S311 - to part the writers

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except redis.WatchError as error:
            raise _Outrun(
                f"The policy registry in Redis at {self._address} is being changed by other "
                "programs all the time. Try again."
            ) from error
        except (redis.RedisError, OSError) as error:
            raise RegistryUnavailable(
                f"The policy registry in Redis at {self._address} cannot be used ({error}). "
                "Check that Redis runs there and that REDIS_URL is right."
            ) from error


class _Outrun(RegistryUnavailable):
    """Another writer was first."""


def _client(url: str) -> redis.Redis:
    try:
        client = redis.Redis.from_url(
            url,
            decode_responses=True,
            encoding_errors="replace",
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_timeout=SOCKET_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
            # The third version of the protocol would bring messages that nobody asked for.
            protocol=2,
        )
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # meets an option that does not exist
    except (ValueError, TypeError):
        # Not from the cause, and not in its words: they may show the password.
        raise BadSetting(
            "REDIS_URL is not an address of Redis. Write it like redis://localhost:6379/0, "
            "rediss://… for TLS, or unix:///path/to/socket; percent-encode a password."
        ) from None
    return client


def _address(client: redis.Redis) -> str:
    """Where it is, without the name and password that the URL may have."""
    given = client.connection_pool.connection_kwargs
    if "path" in given:
        return str(given["path"])
    return f"{given.get('host', 'localhost')}:{given.get('port', 6379)}/{given.get('db', 0)}"


def _watch(pipe: Pipeline, keys: Sequence[str]) -> None:
    if keys:
        pipe.watch(*keys)  # type: ignore[no-untyped-call]


def _write(pipe: Pipeline, before: Revision | None, after: Revision) -> None:
    key = _revision_key(after.source, after.revision_id)
    if before is None:
        pipe.delete(key)  # no entry names it: what is there was left behind by a crash
        pipe.hset(key, mapping=_texts(row_of(after)))
    elif fields := changes(before, after):
        pipe.hset(key, mapping=_texts(fields))
    pipe.zadd(_index_key(after.source), {after.revision_id: days_since_epoch(after.effective_from)})


def _texts(row: Mapping[str, Plain]) -> dict[Any, Any]:
    return {name: "" if value is None else str(value) for name, value in row.items()}


def _pairs(flat: Sequence[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _policy_key(source: str) -> str:
    return f"policy:{source}"


def _index_key(source: str) -> str:
    return f"policy_revisions:{source}"


def _revision_key(source: str, revision_id: str) -> str:
    return f"policy_revision:{source}:{revision_id}"
