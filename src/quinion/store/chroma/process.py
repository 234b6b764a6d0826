"""Chroma in a separate process.

Chroma holds the interpreter lock while it writes, 0.8 ms per record. It also trusts its files: a
flipped bit in its graph can crash the process that reads it, or block it forever. So Chroma runs in
a process that may block or crash. The process starts at the first call, and again after each
failure. It exits when its pipe is closed, and thus always with the server.
"""

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, cast

from quinion.errors import StoreUnavailable
from quinion.runtime_tuning import lower_priority
from quinion.store.chroma.client import ChromaClient, Location, is_damaged

TIMEOUT_S = 120.0
"""Timeout of a call; the first call that needs a large graph has to load it."""
SERVER_TIMEOUT_S = 30.0
"""The same for a server, for which Chroma's client has no timeout."""
POLL_S = 0.2
"""Interval of checks whether the client was closed."""
# -P: the current folder belongs to the user, and nothing in it may be imported.
COMMAND = (sys.executable, "-P", "-m", "quinion.store.chroma.process")


class ChromaDamaged(StoreUnavailable):
    """The files of an embedded Chroma are damaged."""


def open_chroma(location: Location) -> ChromaClient:
    """Create a client whose methods run in a separate process.

    The methods are thread-safe. `close` may be called while another method runs, which then fails.

    Raises, from all methods:
        ChromaDamaged: the files in the folder are damaged.
        StoreUnavailable: Chroma failed, its process died or timed out, or the client was closed.
    """
    return cast(ChromaClient, _RemoteClient(location))


class _RemoteClient:
    def __init__(self, location: Location) -> None:
        self._location = location
        self._folder = location if isinstance(location, Path) else None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection[Any, Any] | None = None
        self._deaths = 0
        self._is_closed = False

    def __getattr__(self, method: str) -> Any:
        return partial(self._call, method)

    def close(self) -> None:
        """Stop the process, which closes its files."""
        self._is_closed = True
        with self._lock:
            self._stop()

    def _call(self, method: str, *arguments: Any) -> Any:
        with self._lock:
            if self._is_closed:
                raise StoreUnavailable(f"Chroma at {self._location} was closed")
            pipe = self._pipe or self._start()
            try:
                pipe.send((method, arguments))
                give_up_at = time.monotonic() + (TIMEOUT_S if self._folder else SERVER_TIMEOUT_S)
                while not pipe.poll(POLL_S):
                    if self._is_closed or time.monotonic() > give_up_at:
                        raise TimeoutError
                is_failure, answer = pipe.recv()
                self._deaths = 0
            except (OSError, EOFError) as error:
                is_failure, answer = True, f"its process died or timed out: {error!r}"
                self._deaths += 1
                self._stop(0)
            if not is_failure:
                return answer
            self._stop()
            is_damage = (
                self._folder
                and not self._is_closed
                and is_damaged(self._folder, answer, self._deaths)
            )
        kind = ChromaDamaged if is_damage else StoreUnavailable
        raise kind(f"Chroma at {self._location} failed: {answer}")

    def _start(self) -> "Connection[Any, Any]":
        self._pipe, theirs = Pipe()
        try:
            self._process = subprocess.Popen(
                [*COMMAND, str(theirs.fileno()), str(self._location)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # the server's may be connected to an MCP client
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # so that only the server gets Ctrl-C and closes this one
            )
        except OSError as error:
            self._stop()
            raise StoreUnavailable(f"Chroma's process can't be started: {error}") from error
        finally:
            theirs.close()
        return self._pipe

    def _stop(self, within_s: float = TIMEOUT_S) -> None:
        if self._pipe:
            self._pipe.close()
        if self._process:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(within_s)
            self._process.kill()
            self._process.wait()
        self._pipe = self._process = None


def main(descriptor: str, location: str) -> None:
    """Answer calls until the pipe is closed or one fails."""
    os.umask(0o077)
    lower_priority()
    place: Location = location if "://" in location else Path(location)
    client: ChromaClient | None = None
    # Both ends of the pipe belong to quinion, so unpickling is safe.
    pipe: Connection[Any, Any] = Connection(int(descriptor))
    with pipe, suppress(EOFError, BrokenPipeError):
        while True:
            method, arguments = pipe.recv()
            try:
                client = client or ChromaClient(place)
                answer = getattr(client, method)(*arguments)
            except Exception as error:  # Chroma, its HTTP client and SQLite have no common base
                pipe.send((True, str(error)))
                return
            pipe.send((False, answer))
    if client:
        client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
