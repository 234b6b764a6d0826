"""Client of the shared engine: finds the process that holds the home, or starts one.

The code is blocking and imports little, because the stdio relay needs only this module.
"""

import fcntl
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO

from quinion import __version__
from quinion.daemon.handshake import Hello, Reply
from quinion.errors import HomeInUse, QuinionError
from quinion.settings import Settings
from quinion.store.lock import in_use, is_held, read_holder, unusable

POLL_S = 0.02
NO_SOCKET_S = 3.0
"""How long to wait for the holder of the home to open its socket."""
TIMEOUT_S = 60.0
"""How long an engine may take to start or to stop."""
SOCKET_TIMEOUT_S = 30.0
LOG_NAME = "engine.log"


def attach(settings: Settings, server: str) -> socket.socket:
    """Connect to a server of the engine that holds the home; start an engine if there is none.

    Raises:
        HomeInUse: the process that holds the home refuses the connection; the message says why.
        BadSetting: a folder cannot be used.
    """
    waiting = HolderWait(settings.home)
    while True:
        if link := find(settings, server):
            return link
        if is_held(settings.home):
            waiting.wait()
        else:
            _start_if_needed(settings)


def find(settings: Settings, server: str, *, is_command: bool = False) -> socket.socket | None:
    """Connect to a server of the engine that holds the home; None if no engine accepts now.

    `is_command` asks for the tools that only quinion's own commands may call.

    Raises:
        HomeInUse: the engine refuses the connection; the message says why.
    """
    hello = Hello(__version__, server, _folder(), settings.dump(), is_command)
    return _handshake(settings.home, hello)


def stop_engine(home: Path) -> bool:
    """Stop the background engine and wait for its end; false if none is running.

    Raises:
        HomeInUse: the process that holds the home is not a background engine.
    """
    if not is_held(home):
        return False
    waiting = HolderWait(home)
    while is_held(home):
        _handshake(home, Hello(__version__))
        waiting.wait()
    return True


def _start_if_needed(settings: Settings) -> None:
    """Start an engine; if another client is starting one, wait for it instead."""
    with _open_log(settings.home) as log:
        start_lock = os.open(settings.home, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(start_lock, fcntl.LOCK_EX)
            if not is_held(settings.home):
                _start(settings, log)
        finally:
            os.close(start_lock)


def _start(settings: Settings, log: BinaryIO) -> None:
    """Start a background engine; return when it, or another process, holds the home.

    The settings contain secrets, so they are passed through stdin. The engine reports through a
    pipe that it is ready, or why it cannot start.

    Raises:
        QuinionError: the engine could not be started.
    """
    read, write = os.pipe()
    with os.fdopen(read, "rb") as report:
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "quinion.daemon.background", str(write)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                pass_fds=(write,),
                cwd="/",
            )
        finally:
            os.close(write)
        process.communicate(json.dumps(settings.dump()).encode())
        received = report.read()
    if not received:
        raise QuinionError(f"The engine could not be started. See the log: {log.name}")
    reply = Reply.decode(received)
    if reply.code != HomeInUse.code or not is_held(settings.home):
        reply.raise_error()


def _handshake(home: Path, hello: Hello) -> socket.socket | None:
    holder = read_holder(home)
    if holder is None or not holder.socket or not is_held(home):
        return None
    link = socket.socket(socket.AF_UNIX)
    try:
        link.settimeout(SOCKET_TIMEOUT_S)
        link.connect(holder.socket)
        link.sendall(hello.encode() + b"\n")
        received = _read_line(link)
        if received:
            reply = Reply.decode(received)
            reply.raise_error()
            if not reply.leaving:
                link.settimeout(None)
                return link
    except OSError:
        pass  # the engine is stopping or has stopped
    except QuinionError:
        link.close()
        raise
    link.close()
    return None


def _read_line(link: socket.socket) -> bytes:
    """Read the reply; the engine sends nothing after it until the client's first message."""
    line = b""
    while not line.endswith(b"\n"):
        part = link.recv(1 << 16)
        if not part:
            return b""
        line += part
    return line


def _open_log(home: Path) -> BinaryIO:
    """Open the log of background engines, which they rotate."""
    path = home / LOG_NAME
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        return path.open("ab")
    except OSError as error:
        raise unusable(home, error) from error


def _folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # the working directory was deleted
        return ""


class HolderWait:
    """Polls for the process that holds the home, with a timeout."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._started = self._socket_seen = time.monotonic()

    def wait(self) -> None:
        """Sleep for one polling interval.

        Raises:
            HomeInUse: the timeout has passed.
        """
        now = time.monotonic()
        holder = read_holder(self._home)
        if holder and holder.socket:
            self._socket_seen = now
        if now - self._started > TIMEOUT_S or now - self._socket_seen > NO_SOCKET_S:
            raise in_use(self._home)
        time.sleep(POLL_S)
