"""How a process finds the engine that has the home, or starts one.

Blocking, and with few imports: a relay on stdio has no more than this.
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

LOOK_S = 0.02
NO_DOOR_S = 3.0
"""How long whoever has the home may be without a door: it is being opened, or there is none."""
PATIENCE_S = 60.0
"""How long an engine may take to leave, or to come."""
SILENCE_S = 30.0
MOST_LOG = 1 << 20
LOG_NAME = "engine.log"


def attach(settings: Settings, server: str) -> socket.socket:
    """A connection to the server in the engine that has the home; one is started if none has.

    Raises:
        HomeInUse: a process has the home that can't let us in; the message says why.
        BadSetting: a folder can't be used.
    """
    patience = Patience(settings.home)
    while True:
        if link := find(settings, server):
            return link
        if is_held(settings.home):
            patience.wait()
        else:
            _start_once(settings)


def find(settings: Settings, server: str) -> socket.socket | None:
    """A connection to the server in the engine that has the home; None when none lets us in now.

    Raises:
        HomeInUse: the engine will not; the message says why.
    """
    return _greet(settings.home, Hello(__version__, server, _folder(), settings.dump()))


def ask_to_leave(home: Path) -> bool:
    """Have an engine in the background leave, and wait for it; false when none was there.

    Raises:
        HomeInUse: the process that has the home is not in the background.
    """
    if not is_held(home):
        return False
    patience = Patience(home)
    while is_held(home):
        _greet(home, Hello(__version__))
        patience.wait()
    return True


def _start_once(settings: Settings) -> None:
    """Start an engine, unless another client does so at this moment: then wait for that."""
    with _open_log(settings.home) as log:
        turn = os.open(settings.home, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(turn, fcntl.LOCK_EX)
            if not is_held(settings.home):
                _start(settings, log)
        finally:
            os.close(turn)


def _start(settings: Settings, log: BinaryIO) -> None:
    """Start an engine in the background, and return when it, or another, has the home.

    Its settings go to it by its stdin, because there are secrets among them. By a pipe it says
    that it is ready, or what keeps it from starting.

    Raises:
        QuinionError: it could not be started.
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
        said = report.read()
    if not said:
        raise QuinionError(f"The engine could not be started: {log.name} says why.")
    reply = Reply.decode(said)
    if reply.code != HomeInUse.code or not is_held(settings.home):
        reply.raise_error()


def _greet(home: Path, hello: Hello) -> socket.socket | None:
    holder = read_holder(home)
    if holder is None or not holder.socket or not is_held(home):
        return None
    link = socket.socket(socket.AF_UNIX)
    try:
        link.settimeout(SILENCE_S)
        link.connect(holder.socket)
        link.sendall(hello.encode() + b"\n")
        said = _read_line(link)
        if said:
            reply = Reply.decode(said)
            reply.raise_error()
            if not reply.leaving:
                link.settimeout(None)
                return link
    except OSError:
        pass  # it is going, or has gone
    except QuinionError:
        link.close()
        raise
    link.close()
    return None


def _read_line(link: socket.socket) -> bytes:
    """The reply; nothing else is sent before we have answered it."""
    line = b""
    while not line.endswith(b"\n"):
        part = link.recv(1 << 16)
        if not part:
            return b""
        line += part
    return line


def _open_log(home: Path) -> BinaryIO:
    """The log of engines in the background; begun anew when it has become large."""
    path = home / LOG_NAME
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        return path.open("ab" if path.stat().st_size < MOST_LOG else "wb")
    except OSError as error:
        raise unusable(home, error) from error


def _folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it was deleted
        return ""


class Patience:
    """Waits for whoever has the home, a little each time; not for ever."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._begun = self._seen_door = time.monotonic()

    def wait(self) -> None:
        """Wait a little.

        Raises:
            HomeInUse: this has been going on for long enough.
        """
        now = time.monotonic()
        holder = read_holder(self._home)
        if holder and holder.socket:
            self._seen_door = now
        if now - self._begun > PATIENCE_S or now - self._seen_door > NO_DOOR_S:
            raise in_use(self._home)
        time.sleep(LOOK_S)
