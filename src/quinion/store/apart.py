"""An embedded Chroma in a process of its own.

Chroma keeps the interpreter's lock while it writes, 0.8 ms for each record, and trusts its files: a
flipped bit in its graph can end the process that reads it, or make it wait for ever. So it has a
process that may be kept waiting and may die. It is started at the first use, and asked by one
thread after the other: a length, a pickled call, a length, a pickled answer. Both ends are ours,
and what passes between them are records and vectors, so pickle is as safe as it is quick.

It ends when the pipe is closed, and so with the server, however that ends; whoever comes next waits
for it to have ended (`WRITER`), since two that write one folder lose vectors without an error.
"""

import fcntl
import os
import pickle
import select
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from quinion import errors
from quinion.errors import QuinionError, StoreUnavailable
from quinion.model.record import Record
from quinion.priority import give_way
from quinion.store.chroma import Chroma, Place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SILENCE_S = 120.0
"""The longest that a call may take; the first that needs a large graph loads it."""
LENGTH_BYTES = 8
WRITER = "writer.lock"
PIPE_BYTES = 1 << 20
READ_ONLY = "readonly database"
"""What SQLite says of one that it could only open to be read."""
# -P: the current folder is the user's, and nothing in it may be imported.
COMMAND = (sys.executable, "-P", "-m", "quinion.store.apart")


def open_chroma(place: Place) -> Chroma:
    """The adapter for that place."""
    return ApartChroma(place) if place.folder and not place.url else Chroma(place)


class ApartChroma(Chroma):
    """The same, from the server's side."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_open(self) -> bool:
        """Whether it has been connected to."""
        return self._process is not None

    def open(self) -> None:
        """Connect, if that has not been done."""
        self._ask("open")

    def close(self) -> None:
        """Have it let go of the files, and end it."""
        with self._lock:
            process, self._process = self._process, None
            if process is None:
                return
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()
            try:
                process.wait(SILENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()

    def marked(self) -> list[str]:
        names: list[str] = self._ask("marked")
        return names

    def unmarked(self) -> list[str]:
        names: list[str] = self._ask("unmarked")
        return names

    def fingerprint(self, collection: str) -> str:
        return str(self._ask("fingerprint", collection))

    def mark(self, collection: str, fingerprint: str) -> None:
        self._ask("mark", collection, fingerprint)

    def upsert(
        self, collection: str, records: Sequence[Record], vectors: "NDArray[np.float32]"
    ) -> None:
        if records:
            self._ask("upsert", collection, list(records), vectors)

    def page_of_ids(self, collection: str, start: int) -> list[str]:
        ids: list[str] = self._ask("page_of_ids", collection, start)
        return ids

    def get(
        self, collection: str, ids: Sequence[str]
    ) -> "tuple[list[Record], NDArray[np.float32]]":
        found: tuple[list[Record], NDArray[np.float32]] = self._ask("get", collection, list(ids))
        return found

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        if ids:
            self._ask("delete", collection, list(ids))

    def set_metadata(self, collection: str, records: Sequence[Record]) -> None:
        if records:
            self._ask("set_metadata", collection, list(records))

    def drop(self, collection: str) -> None:
        self._ask("drop", collection)

    def count(self, collection: str) -> int:
        return int(self._ask("count", collection))

    def get_sound(
        self, collection: str, ids: Sequence[str]
    ) -> "tuple[dict[str, tuple[Record, NDArray[np.float32]]], list[str]]":
        found: tuple[dict[str, tuple[Record, NDArray[np.float32]]], list[str]] = self._ask(
            "get_sound", collection, list(ids)
        )
        return found

    def _ask(self, method: str, *arguments: Any) -> Any:
        """What the method answers there.

        Raises:
            StoreUnavailable: Chroma failed, or its process died or fell silent.
        """
        with self._lock:
            process = self._process = self._process or _start(self.place)
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                _write(process.stdin, (method, arguments))
                kind, answer = pickle.loads(_read(process.stdout, SILENCE_S))  # noqa: S301 - ours
            except (OSError, EOFError) as error:
                self._process = None
                raise self._ended(process, error) from error
        if kind:
            raise getattr(errors, kind)(answer)
        return answer

    def _ended(self, process: "subprocess.Popen[bytes]", error: Exception) -> StoreUnavailable:
        if isinstance(error, TimeoutError):
            how = f"has been silent for {SILENCE_S:.0f} seconds, and was ended"
            process.kill()
        else:
            how = f"has ended (status {process.wait()})"
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        return StoreUnavailable(
            f"The process of the vector store at {self.place} {how}. Try again; if it does not "
            "last, the store is damaged: stop the server and run quinion rebuild, which makes it "
            "anew from the ledger."
        )


def _start(place: Place) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            [*COMMAND, str(place.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # so that Ctrl-C is for the server, which closes it
        )
    except OSError as error:
        raise StoreUnavailable(
            f"The process of the vector store at {place} cannot be started: {error.strerror}. "
            "Free some memory, and try again."
        ) from error


def _write(pipe: Any, message: object) -> None:
    body = pickle.dumps(message, protocol=5)
    pipe.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)
    pipe.flush()


def _read(pipe: Any, silence_s: float | None = None) -> bytes:
    length = int.from_bytes(_read_exactly(pipe, LENGTH_BYTES, silence_s), "big")
    return _read_exactly(pipe, length, silence_s)


def _read_exactly(pipe: Any, count: int, silence_s: float | None) -> bytes:
    """Raises EOFError when the pipe ends before, TimeoutError when nothing comes for so long."""
    body = bytearray()
    sounds = select.poll()
    sounds.register(pipe, select.POLLIN)
    while len(body) < count:
        if silence_s is not None and not sounds.poll(1000 * silence_s):
            raise TimeoutError
        part = os.read(pipe.fileno(), min(count - len(body), PIPE_BYTES))
        if not part:
            raise EOFError
        body += part
    return bytes(body)


def main(folder: str) -> None:
    """Answer until the pipe is closed."""
    answers: BinaryIO = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    give_way()
    with closing(Chroma(Place(Path(folder)))) as chroma, suppress(EOFError, BrokenPipeError):
        turn = -1
        while True:
            method, arguments = pickle.loads(_read(sys.stdin))  # noqa: S301 - ours
            try:
                turn = turn if turn >= 0 else _take_turn(Path(folder))
                answer = "", _answer(chroma, method, arguments)
            except QuinionError as error:
                answer = type(error).__name__, error.message
            _write(answers, answer)


def _answer(chroma: Chroma, method: str, arguments: tuple[Any, ...]) -> Any:
    """What the method answers. All of them may be called twice."""
    try:
        return getattr(chroma, method)(*arguments)
    except StoreUnavailable as error:
        if READ_ONLY not in error.message:
            raise
        # It may have been opened while the folder was, stays so when that is over, and is closed
        # by now.
        return getattr(chroma, method)(*arguments)


def _take_turn(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        turn = os.open(folder / WRITER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(turn, fcntl.LOCK_EX)
    except OSError as error:
        raise StoreUnavailable(
            f"The vector store at {folder} failed: {error.strerror}. "
            "Check that the disk is not full and that the folder is writable, and try again."
        ) from error
    return turn


if __name__ == "__main__":
    main(*sys.argv[1:])
