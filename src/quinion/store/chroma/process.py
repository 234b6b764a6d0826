"""Chroma in a process of its own.

Chroma keeps the interpreter's lock while it writes, 0.8 ms for each record, and trusts its files:
a flipped bit in its graph can end the process that reads it, or make it wait for ever. So it has a
process that may be kept waiting and may die. It is started at the first call, and again after each
failure. It ends when its pipe is closed, and so with the server, however that ends.
"""

import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, cast

from quinion.errors import StoreUnavailable
from quinion.priority import give_way
from quinion.store.chroma.client import ChromaClient, Location, is_damage, is_locked

TIMEOUT_S = 120.0
"""The longest that a call may take; the first that needs a large graph loads it."""
POLL_S = 0.2
"""How often it is asked meanwhile whether the caller still wants to wait."""
# -P: the current folder is the user's, and nothing in it may be imported.
COMMAND = (sys.executable, "-P", "-m", "quinion.store.chroma.process")


class ChromaDamaged(StoreUnavailable):
    """The files of an embedded Chroma are damaged."""


def open_chroma(
    location: Location, deadline: Callable[[], float] = lambda: math.inf
) -> ChromaClient:
    """A client whose methods run in a process of their own. They may be called from any thread.

    `deadline` is when a call is given up, by `time.monotonic`; it may change while one runs.

    Raises, from all methods:
        ChromaDamaged: the files in the folder are damaged.
        StoreUnavailable: Chroma failed, or its process died or timed out.
    """
    return cast(ChromaClient, _RemoteClient(location, deadline))


class _RemoteClient:
    def __init__(self, location: Location, deadline: Callable[[], float]) -> None:
        self._location = location
        self._deadline = deadline
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection[Any, Any] | None = None
        self._deaths = 0

    def __getattr__(self, method: str) -> Any:
        return partial(self._call, method)

    def close(self) -> None:
        """End the process, which closes its files."""
        with self._lock:
            self._end()

    def _call(self, method: str, *arguments: Any) -> Any:
        with self._lock:
            pipe = self._pipe or self._start()
            try:
                pipe.send((method, arguments))
                began = time.monotonic()
                while not pipe.poll(POLL_S):
                    if time.monotonic() > min(began + TIMEOUT_S, self._deadline()):
                        raise TimeoutError(f"no answer for {time.monotonic() - began:.0f} s")
                failure, answer = pipe.recv()
            except (OSError, EOFError) as error:
                self._end(kill=True)
                if is_locked(self._location):
                    raise StoreUnavailable(
                        f"Chroma's database in {self._location} is locked by another program"
                    ) from error
                self._deaths += 1
                # Once may be an accident.
                is_folder = isinstance(self._location, Path)
                kind = ChromaDamaged if self._deaths > 1 and is_folder else StoreUnavailable
                raise kind(
                    f"Chroma's process at {self._location} died or timed out: {error!r}"
                ) from error
            self._deaths = 0
            if failure is None:
                return answer
            self._end()
        raise (ChromaDamaged if failure else StoreUnavailable)(
            f"Chroma at {self._location} failed: {answer}"
        )

    def _start(self) -> "Connection[Any, Any]":
        self._pipe, theirs = Pipe()
        try:
            self._process = subprocess.Popen(
                [*COMMAND, str(theirs.fileno()), str(self._location)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # ours may be a client's
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # so that Ctrl-C goes to the server, which closes it
            )
        except OSError as error:
            self._end()
            raise StoreUnavailable(f"Chroma's process can't be started: {error}") from error
        finally:
            theirs.close()
        return self._pipe

    def _end(self, *, kill: bool = False) -> None:
        if self._pipe:
            self._pipe.close()
        if self._process:
            try:
                self._process.wait(0 if kill else TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._pipe = self._process = None


def main(descriptor: str, location: str) -> None:
    """Answer calls until the pipe is closed or one fails."""
    os.umask(0o077)
    give_way()
    place: Location = location if "://" in location else Path(location)
    client: ChromaClient | None = None
    # Both ends are ours, so what is received may be unpickled.
    pipe: Connection[Any, Any] = Connection(int(descriptor))
    with pipe, suppress(EOFError, BrokenPipeError):
        while True:
            method, arguments = pipe.recv()
            try:
                client = client or ChromaClient(place)
                answer = getattr(client, method)(*arguments)
            except Exception as error:  # Chroma, its HTTP client and SQLite each raise their own
                pipe.send((is_damage(error, place), str(error)))
                return
            pipe.send((None, answer))
    if client:
        client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
