"""An OCR library in a persistent process.

It runs in a separate process because the only way to stop a run is to kill it, and because its
crash must not end the worker. It is in the process group of its parent, so both are killed
together, and it exits when its parent closes stdin or exits. It has its parent's limits of memory.

It speaks the protocol of workers (`quinion.framing`); the pixels of a page follow its frame.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from time import monotonic
from typing import IO

from quinion.extract.ocr.raster import Raster
from quinion.framing import (
    LENGTH_BYTES,
    MAX_FRAME_BYTES,
    Frame,
    decode,
    decode_length,
    encode,
)


class LibraryProcess:
    """A process of a module: started on first use, and restarted after it was killed.

    `find_arguments` returns the arguments of the module, or None if it cannot run here.
    """

    def __init__(self, name: str, module: str, find_arguments: Callable[[], list[str] | None]):
        self._name = name
        self._module = module
        self._find_arguments = find_arguments
        self._process: subprocess.Popen[bytes] | None = None
        self._is_usable = True
        self._lock = threading.Lock()

    def request(
        self, raster: Raster, timeout_s: float, *, upside_down: bool = False
    ) -> Frame | None:
        """Return the reply for a raster; None if the library does not work here.

        Raises:
            TimeoutError: the library did not finish within the timeout.
        """
        with self._lock:
            return self._request(raster, timeout_s, upside_down) if self._is_usable else None

    def close(self) -> None:
        """Kill the process; the next request starts another."""
        if self._process is not None:
            self._process.kill()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                pipe.close()
            self._process.wait()
            self._process = None

    def _request(self, raster: Raster, timeout_s: float, upside_down: bool) -> Frame | None:
        deadline = monotonic() + timeout_s
        with ExitStack() as on_failure:
            # Whatever fails, memory included: half an exchange must not precede the next page.
            on_failure.callback(self.close)
            try:
                process = self._process = self._process or self._start()
                if process is not None:
                    reply = _exchange(process, raster, upside_down, deadline)
                    on_failure.pop_all()
                    return reply
            except TimeoutError as cause:
                raise TimeoutError(f"{self._name} took more than {timeout_s:.0f} s") from cause
            except (OSError, ValueError):
                pass  # the process exited, or could not be started
        # The library does not work here, or a page made it crash. It is not tried again.
        self._is_usable = False
        return None

    def _start(self) -> "subprocess.Popen[bytes] | None":
        arguments = self._find_arguments()
        if arguments is None:
            return None
        process = subprocess.Popen(
            # -P: modules in the user's current folder must not be imported.
            [sys.executable, "-P", "-m", self._module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            # Pages run in parallel in several processes already. Each thread of numpy's library,
            # and each arena of glibc's allocator, reserves address space.
            env={
                **os.environ,
                "OMP_THREAD_LIMIT": "1",
                "OPENBLAS_NUM_THREADS": "1",
                "MALLOC_ARENA_MAX": "1",
            },
        )
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        return process


def _exchange(
    process: "subprocess.Popen[bytes]", raster: Raster, upside_down: bool, deadline: float
) -> Frame:
    """Send a raster and return the reply.

    Raises:
        TimeoutError: the deadline has passed.
        OSError, ValueError: the process has exited.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    width, height = raster.image.size
    head = encode({"width": width, "height": height, "dpi": raster.dpi or 0})
    _write(process.stdin, head, deadline)
    for band in raster.bands(upside_down=upside_down):
        _write(process.stdin, band, deadline)
    length = decode_length(_read(process.stdout, LENGTH_BYTES, deadline))
    if length > MAX_FRAME_BYTES:
        raise ValueError("the reply is too large")
    return decode(_read(process.stdout, length, deadline))


def _write(pipe: IO[bytes], data: bytes, deadline: float) -> None:
    rest = memoryview(data)
    while rest:
        _wait(pipe, EVENT_WRITE, deadline)
        rest = rest[os.write(pipe.fileno(), rest) :]


def _read(pipe: IO[bytes], size: int, deadline: float) -> bytes:
    data = bytearray()
    while len(data) < size:
        _wait(pipe, EVENT_READ, deadline)
        part = os.read(pipe.fileno(), size - len(data))
        if not part:
            raise BrokenPipeError("the process has exited")
        data += part
    return bytes(data)


def _wait(pipe: IO[bytes], event: int, deadline: float) -> None:
    """Wait until a pipe is ready.

    Not with a timer: its thread may not start when this process has no memory left.
    """
    with DefaultSelector() as selector:
        selector.register(pipe, event)
        left_s = deadline - monotonic()
        if left_s <= 0 or not selector.select(left_s):
            raise TimeoutError
