"""Interception of the system calls with which a process changes files.

A process is forked with a seccomp filter (user notification): the kernel asks this process about
each system call that changes a file, before it is executed. Counted are the calls on files below
one folder, requests to Redis, requests to a Chroma server that would change something, and the
answers to those. They are numbered in order of arrival, over all threads and child processes.
`decide` is called for each: the call is executed, fails with a given error, waits while the process
is inspected, or is replaced by SIGKILL. The disk then has the effects of all earlier calls, and a
kill at any other moment between two calls leaves the same state.

`strace` can inject faults too, but it counts for each thread separately and not by folder; with
several threads its n-th call is a different one in every run.

Not seen: writes to mapped memory (SQLite's `-shm`, which it creates again; Chroma's graph is
written with calls). A killed process is not a power cut: what the kernel was given is kept.
"""

import ctypes
import errno
import faulthandler
import fcntl
import json
import os
import platform
import re
import select
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil


@dataclass(frozen=True, slots=True)
class _Shape:
    """A system call: its number (x86-64), and which of its arguments name the file: a descriptor,
    or a path and the descriptor of the folder that it is relative to, if any."""

    number: int
    descriptor: int | None = None
    path: int | None = None


_CALLS = {
    "write": _Shape(1, 0),
    "pwrite64": _Shape(18, 0),
    "writev": _Shape(20, 0),
    "pwritev": _Shape(296, 0),
    "pwritev2": _Shape(328, 0),
    "sendfile": _Shape(40, 0),
    "copy_file_range": _Shape(326, 2),
    "fsync": _Shape(74, 0),
    "fdatasync": _Shape(75, 0),
    "sync_file_range": _Shape(277, 0),
    "ftruncate": _Shape(77, 0),
    "fallocate": _Shape(285, 0),
    "truncate": _Shape(76, path=0),
    "rename": _Shape(82, path=1),
    "renameat": _Shape(264, 2, 3),
    "renameat2": _Shape(316, 2, 3),
    "mkdir": _Shape(83, path=0),
    "mkdirat": _Shape(258, 0, 1),
    "rmdir": _Shape(84, path=0),
    "unlink": _Shape(87, path=0),
    "unlinkat": _Shape(263, 0, 1),
    "link": _Shape(86, path=1),
    "linkat": _Shape(265, 2, 3),
    "symlink": _Shape(88, path=1),
    "symlinkat": _Shape(266, 1, 2),
    "creat": _Shape(85, path=0),
    "open": _Shape(2, path=0),
    "openat": _Shape(257, 0, 1),
    "sendto": _Shape(44, 0),
    "recvfrom": _Shape(45, 0),
}
_NAMES = {shape.number: name for name, shape in _CALLS.items()}
_OF_SOCKETS = frozenset({"sendto", "recvfrom"})
OPENS = frozenset({"open", "openat", "creat"})
_FLAGS_AT = {"open": 1, "openat": 2}
"""Index of the flags argument of an open; only opens that may change the file are counted."""
_TO_CHANGE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

_SECCOMP, _SET_FILTER, _NEW_LISTENER, _NO_NEW_PRIVILEGES = 317, 1, 1 << 3, 38
_ASK, _ALLOW = 0x7FC00000, 0x7FFF0000
_LOAD, _IF_EQUAL, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ARGUMENTS_AT = 16
_RECEIVE, _SEND, _GO_ON = 0xC0502100, 0xC0182101, 1
_NOTICE, _ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
_HERE = 2**32 - 100
"""AT_FDCWD, as 32 bits."""
_PAGE = 4096
"""Size of a memory page, and the maximum length of a path."""

KILL = 0
"""Answer of `decide` that kills the process, instead of an error number."""

HOLD = -1
"""Answer of `decide` that holds the call until the process reports something. Meanwhile other
calls are executed without calling `decide`."""
HOLD_S = 1.0
"""Maximum seconds that a call is held."""

REDIS = "Redis"
"""`file` of a request to Redis."""

CHROMA = "Chroma"
"""`file` of a request to a Chroma server, and of its answer."""
_TO_CHANGE_CHROMA = re.compile(
    rb"(PUT|DELETE) /api/v2/|POST /api/v2/\S+/(collections|add|upsert|update|delete) "
)
_REQUEST_LINE = 300

Say = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that would change something: its number, its name, the file relative to the folder,
    and whether the main thread makes it, which is the thread that reports."""

    place: int
    name: str
    file: str
    by_main: bool = False


@dataclass(frozen=True, slots=True)
class _Held:
    """A held call, with the number of reports before it and the deadline for its release."""

    id: int
    said: int
    until: float


@dataclass(slots=True)
class Run:
    """Result of a process: the counted calls, how many of them came before its first report, its
    reports, and how it ended.

    `asked` are the threads, and their sockets, that Chroma has not answered yet. `held` is the
    held call.
    """

    calls: list[Call] = field(default_factory=list)
    unsaid: int = 0
    said: list[Any] = field(default_factory=list)
    status: int = 0
    hung: bool = False
    asked: set[tuple[int, int]] = field(default_factory=set)
    held: _Held | None = None


Decide = Callable[[Call, Run], int | None]


def let_all(_: Call, __: Run) -> None:
    """Execute all calls."""


def why_not() -> str:
    """Return the reason why calls can't be intercepted here; empty if they can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "system calls are intercepted on Linux on x86-64 only"
    try:
        with _forked(lambda _: None, None, 1.0) as (_, listener, _, _):
            os.close(listener)
    except OSError as error:
        return f"the kernel does not permit a seccomp listener ({error})"
    return ""


def watch(
    folder: Path,
    work: Callable[[Say], None],
    decide: Decide = let_all,
    *,
    log: Path | None = None,
    timeout_s: float = 60.0,
) -> Run:
    """Run the work in a forked process, and decide about each change that it makes below the
    folder.

    Its output goes to `log`. The calling process must be single-threaded.
    """
    run = Run()
    deadline = time.monotonic() + timeout_s
    with _forked(work, log, timeout_s) as (pid, listener, ears, ended):
        poll = select.poll()
        for descriptor in (listener, ears, ended):
            poll.register(descriptor, select.POLLIN)
        heard = b""
        while True:
            ready = dict(poll.poll(100 if run.held else 1000))
            if ears in ready:
                heard = _hear(ears, heard, run)
            if run.held and (len(run.said) > run.held.said or time.monotonic() > run.held.until):
                _send(listener, run.held.id)
                run.held = None
            if ended in ready:
                break
            if ready.get(listener, 0) & select.POLLIN and not _answer(
                listener, folder, decide, run, pid
            ):
                break
            if time.monotonic() > deadline:
                run.hung = True
                break
        _kill(pid)
        os.close(listener)
        _hear(ears, heard, run)
        run.status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return run


def _answer(listener: int, folder: Path, decide: Decide, run: Run, pid: int) -> bool:
    """Answer one notification; False if the process must be killed instead."""
    notice = bytearray(_NOTICE.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, notice)
    except OSError:  # the calling thread has died
        return True
    id_, thread, _, number, _, _, *arguments = _NOTICE.unpack(notice)
    name = _NAMES[number]
    if name in _OF_SOCKETS:
        file = _find_server(thread, name, arguments, run)
    else:
        file = _find_file(thread, name, arguments, str(folder))
    failure = None
    if file is not None:
        call = Call(len(run.calls), name, file, thread == pid)
        failure = None if run.held else decide(call, run)
        if failure == KILL:
            return False
        run.calls.append(call)
        run.unsaid += not run.said
        if failure == HOLD:
            run.held = _Held(id_, len(run.said), time.monotonic() + HOLD_S)
            return True
    _send(listener, id_, failure)
    return True


def _send(listener: int, id_: int, failure: int | None = None) -> None:
    """Let the call execute or fail."""
    with suppress(FileNotFoundError):
        answer = (0, -failure, 0) if failure else (0, 0, _GO_ON)
        fcntl.ioctl(listener, _SEND, _ANSWER.pack(id_, *answer))


def _find_server(thread: int, name: str, arguments: list[int], run: Run) -> str | None:
    """Find the server of a request or answer.

    Sockets have no names. A request to Redis begins with an asterisk, one to Chroma with a request
    line. The next data received at the same socket is the answer. It has arrived, because Python
    waits for it before it reads.
    """
    end = thread, arguments[0]
    if name == "recvfrom":
        answers = end in run.asked
        run.asked.discard(end)
        return CHROMA if answers else None
    try:
        begin = _read(thread, arguments[1], min(arguments[2], _REQUEST_LINE))
    except OSError:
        return None
    if _TO_CHANGE_CHROMA.match(begin):
        run.asked.add(end)
        return CHROMA
    return REDIS if begin.startswith(b"*") else None


def _find_file(thread: int, name: str, arguments: list[int], folder: str) -> str | None:
    """Return the file of a call, if it is below the folder."""
    shape = _CALLS[name]
    try:
        path = ""
        if shape.path is not None:
            path = os.fsdecode(_read_path(thread, arguments[shape.path]))
        if not path.startswith("/"):
            start = _HERE if shape.descriptor is None else arguments[shape.descriptor] & 0xFFFFFFFF
            base = "cwd" if start == _HERE else f"fd/{start}"
            path = os.path.normpath(Path(f"/proc/{thread}/{base}").readlink() / path)
    except OSError:
        return None
    return path.removeprefix(f"{folder}/") if path.startswith(f"{folder}/") else None


def _read_path(thread: int, address: int) -> bytes:
    """Read a path from another process's memory; the page after its last one may not exist."""
    found = _read(thread, address, _PAGE - address % _PAGE)
    if b"\0" not in found:
        found += _read(thread, address + len(found), _PAGE)
    return found.split(b"\0")[0]


def _read(thread: int, address: int, size: int) -> bytes:
    with Path(f"/proc/{thread}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)


def _hear(ears: int, heard: bytes, run: Run) -> bytes:
    """Read the reports of the process; return the start of an unfinished line."""
    with suppress(BlockingIOError):
        while more := os.read(ears, 1 << 16):
            heard += more
    *lines, heard = heard.split(b"\n")
    run.said += map(json.loads, lines)
    return heard


def _kill(pid: int) -> None:
    """Kill the process first, then its children: workers, and Chroma's process."""
    family = psutil.Process(pid).children(recursive=True)
    os.kill(pid, signal.SIGKILL)
    for one in family:
        with suppress(psutil.NoSuchProcess):
            one.kill()


@contextmanager
def _forked(
    work: Callable[[Say], None], log: Path | None, timeout_s: float
) -> Iterator[tuple[int, int, int, int]]:
    """Fork a process for the work; return its id, and the descriptors of the kernel's
    notifications, of its reports and of its exit."""
    ears, mouth = os.pipe()
    os.set_blocking(ears, False)
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        pid = os.fork()
        if not pid:
            _live(work, log, mouth, theirs, timeout_s)
        os.close(mouth)
        message, descriptors, _, _ = socket.recv_fds(ours, 256, 1)
    if not descriptors:
        os.close(ears)
        os.waitpid(pid, 0)
        raise OSError(message.decode())
    ended = os.pidfd_open(pid)
    try:
        yield pid, descriptors[0], ears, ended
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(ended, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
        os.close(ears)
        os.close(ended)


def _live(
    work: Callable[[Say], None],
    log: Path | None,
    mouth: int,
    to_parent: socket.socket,
    timeout_s: float,
) -> None:
    """Body of the forked process. It does not return."""
    status = 1
    try:
        if log:
            paper = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(paper, 1)
            os.dup2(paper, 2)
        try:
            listener = _install()
        except OSError as error:
            to_parent.send(str(error).encode())
            os._exit(1)
        socket.send_fds(to_parent, [b"watched"], [listener])
        os.close(listener)
        to_parent.close()
        # If it hangs, the log shows where.
        faulthandler.dump_traceback_later(timeout_s * 0.8, file=2)
        work(lambda what: _say(mouth, what))
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _say(mouth: int, what: Any) -> None:
    os.write(mouth, json.dumps(what).encode() + b"\n")


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("filter", ctypes.POINTER(_Instruction)))


def _install() -> int:
    """Install the filter for this process and its children; return the descriptor of the kernel's
    notifications."""
    code: list[tuple[int, int, int, int]] = []
    for name, shape in _CALLS.items():
        if name in _FLAGS_AT:
            flags = _ARGUMENTS_AT + 8 * _FLAGS_AT[name]
            code += [(_LOAD, 0, 0, 0), (_IF_EQUAL, 0, 3, shape.number)]
            code += [(_LOAD, 0, 0, flags), (_IF_ANY_BIT, 0, 1, _TO_CHANGE), (_RETURN, 0, 0, _ASK)]
        else:
            code += [(_LOAD, 0, 0, 0), (_IF_EQUAL, 0, 1, shape.number), (_RETURN, 0, 0, _ASK)]
    code.append((_RETURN, 0, 0, _ALLOW))
    instructions = (_Instruction * len(code))(*(_Instruction(*one) for one in code))
    program = _Program(len(code), instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise _failure()
    listener = libc.syscall(_SECCOMP, _SET_FILTER, _NEW_LISTENER, ctypes.byref(program))
    if listener < 0:
        raise _failure()
    return int(listener)


def _failure() -> OSError:
    number = ctypes.get_errno() or errno.EPERM
    return OSError(number, os.strerror(number))
