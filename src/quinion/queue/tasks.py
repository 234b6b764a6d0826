"""Tasks: what is to be ingested, how far it is, and what came out.

procrastinate delivers the id of a task to a worker, perhaps twice. A task has one outcome: the
first.
"""

import json
import os
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool

from quinion.concurrency import in_thread
from quinion.errors import StoreUnavailable
from quinion.queue.schema import SCHEMA, migrate
from quinion.store.postgres.database import describe_address, explain, parse_url

QUEUE = "ingest"
TASK = "ingest"
CONNECTIONS = 4
POOL_TIMEOUT_S = 30.0
SWEEPING = 0x71756E53
"""Key of the advisory lock under which the queue is swept."""
ALIVE_S = 20
"""A worker without a heartbeat for this long is taken for dead."""

_DEFAULTS = {
    "connect_timeout": "5",
    "application_name": f"quinion queue {socket.gethostname()} {os.getpid()}",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
}
_ADD = "INSERT INTO tasks (id, kind, source, arguments) VALUES (%s, %s, %s, %s)"
_READ = "SELECT kind, source, arguments, outcome IS NOT NULL FROM tasks WHERE id = %s"
_STATE = """
SELECT done, total, message, outcome,
    EXISTS (SELECT FROM procrastinate_jobs WHERE procrastinate_jobs.id = job)
FROM tasks WHERE id = %s
"""
_FINISH = "UPDATE tasks SET outcome = %s WHERE id = %s AND outcome IS NULL"
_REPORT = "UPDATE tasks SET done = %s, total = %s, message = %s WHERE id = %s AND outcome IS NULL"
_FAIL = "UPDATE tasks SET failures = failures + 1 WHERE id = %s RETURNING failures"
_REMOVE_OLDER = """
DELETE FROM tasks WHERE created_at < now() - %s
    AND NOT EXISTS (SELECT FROM procrastinate_jobs WHERE procrastinate_jobs.id = job)
"""
_WORKERS = """
SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - make_interval(secs => %s)
"""


@dataclass(frozen=True, slots=True)
class Task:
    """A task: its kind, the path and hash of its file, and the arguments of its kind."""

    kind: str
    path: str
    sha256: str
    arguments: Mapping[str, Any]
    is_finished: bool


@dataclass(frozen=True, slots=True)
class State:
    """State of a task; `is_queued`: it waits for a worker, or a worker has it."""

    done: float
    total: float
    message: str
    outcome: Mapping[str, Any] | None
    is_queued: bool


class Tasks:
    """Tasks in a database, and the app of procrastinate that delivers them."""

    def __init__(self, url: str) -> None:
        self._url = url
        options = parse_url(url)
        self._address = describe_address(options)
        options["options"] = f"{options.get('options', '')} -c search_path={SCHEMA}"
        self._pool = AsyncConnectionPool(
            make_conninfo(**{**_DEFAULTS, **options}),
            min_size=1,
            max_size=CONNECTIONS,
            timeout=POOL_TIMEOUT_S,
            open=False,
            check=AsyncConnectionPool.check_connection,
        )
        self.app = App(connector=PsycopgConnector())

    async def open(self) -> None:
        """Migrate the schema and connect.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        with self.failures():
            await in_thread(migrate, self._url)
            try:
                await self._pool.open(wait=True)
            except BaseException:
                await self._pool.close()  # or it goes on connecting
                raise
            await self.app.open_async(self._pool)

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    async def add(
        self, id_: str, kind: str, path: str, sha256: str, arguments: Mapping[str, Any]
    ) -> int:
        """Add a task to the queue, and return the number of its job."""
        source = json.dumps([path, sha256])
        async with self._connect() as connection:
            await connection.execute(_ADD, (id_, kind, source, json.dumps(arguments)))
            deferrer = self.app.configure_task(TASK, queue=QUEUE, connection=connection)
            job = await deferrer.defer_async(task=id_)
            await connection.execute("UPDATE tasks SET job = %s WHERE id = %s", (job, id_))
        return job

    async def read(self, id_: str) -> Task | None:
        """Read a task; `None` if it was cancelled."""
        async with self._connect() as connection:
            row = await (await connection.execute(_READ, (id_,))).fetchone()
        if row is None:
            return None
        kind, source, arguments, is_finished = row
        path, sha256 = json.loads(source)
        return Task(kind, path, sha256, json.loads(arguments), is_finished)

    async def state(self, id_: str) -> State | None:
        """Read the state of a task; `None` if it was cancelled."""
        async with self._connect() as connection:
            row = await (await connection.execute(_STATE, (id_,))).fetchone()
        if row is None:
            return None
        done, total, message, outcome, is_queued = row
        return State(done, total, message, outcome and json.loads(outcome), is_queued)

    async def report(self, id_: str, done: float, total: float, message: str) -> None:
        """Set the progress of a task."""
        async with self._connect() as connection:
            await connection.execute(_REPORT, (done, total, message.replace("\0", ""), id_))

    async def finish(self, id_: str, outcome: Mapping[str, Any]) -> None:
        """Set the outcome of a task, unless it has one."""
        async with self._connect() as connection:
            await connection.execute(_FINISH, (json.dumps(outcome), id_))

    async def count_failure(self, id_: str) -> int:
        """Count a try that failed; return their number."""
        async with self._connect() as connection:
            row = await (await connection.execute(_FAIL, (id_,))).fetchone()
            return int(row[0]) if row else 0

    async def count_workers(self) -> int:
        """Count the workers that are alive."""
        async with self._connect() as connection:
            row = await (await connection.execute(_WORKERS, (ALIVE_S,))).fetchone()
            return int(row[0]) if row else 0

    async def remove(self, id_: str) -> None:
        """Remove a task whose outcome nobody waits for."""
        async with self._connect() as connection:
            await connection.execute("DELETE FROM tasks WHERE id = %s", (id_,))

    async def remove_older(self, age: timedelta) -> None:
        """Remove the tasks that are older and no longer in the queue."""
        async with self._connect() as connection:
            await connection.execute(_REMOVE_OLDER, (age,))

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[bool]:
        """Whether no other process is in such a block."""
        async with self._connect() as connection:
            query = "SELECT pg_try_advisory_xact_lock(%s)"
            row = await (await connection.execute(query, (SWEEPING,))).fetchone()
            yield row == (True,)

    async def cancel(self, job: int, *, running: bool) -> bool:
        """Cancel a job that waits, or also one that is `running`; return whether there was one."""
        with self.failures():
            return await self.app.job_manager.cancel_job_by_id_async(
                job, abort=running, delete_job=True
            )

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Translate errors of the database into StoreUnavailable."""
        try:
            yield
        except psycopg.Error as error:
            raise StoreUnavailable(explain(error, self._address)) from error
        except ConnectorException as error:
            cause = error.__cause__
            reason = explain(cause, self._address) if isinstance(cause, psycopg.Error) else error
            raise StoreUnavailable(str(reason)) from error

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction: committed when the block ends, rolled back when it raises."""
        with self.failures():
            async with self._pool.connection() as connection:
                yield connection
