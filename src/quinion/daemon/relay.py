"""Stdio relay for desktop clients that start their servers themselves.

The client starts a small relay. The server runs in the engine that holds the home, shared with
all other clients. The relay forwards messages unchanged in both directions.

When the engine stops, the relay answers pending calls with an error. The next message connects to
the current engine or starts one. In protocol versions with an `initialize` handshake, the relay
replays the client's handshake to the new engine.
"""

import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

from quinion.errors import QuinionError

Message = dict[str, Any]
Attach = Callable[[], socket.socket]

INTERNAL_ERROR = -32603
ENGINE_STOPPED = (
    "The engine stopped before it answered. Everything that it had acknowledged is stored. "
    "Call again: another engine will start."
)
FINISH_S = 10.0
"""How long the engine may take to answer after the client has closed its side."""


def serve_stdio(attach: Attach) -> None:
    """Serve one client until it closes stdin. `attach` connects to the engine or starts one.

    Raises:
        QuinionError: no engine can be reached or started.
    """
    Relay(attach, sys.stdin.buffer, sys.stdout.buffer).run()


class Relay:
    """Forwards messages between a client and the current engine."""

    def __init__(self, attach: Attach, client: BinaryIO, answers: BinaryIO) -> None:
        self._attach = attach
        self._client = client
        self._answers = answers
        self._answering = threading.Lock()
        self._engine: _EngineConnection | None = None
        self._handshake: dict[str, bytes] = {}

    def run(self) -> None:
        """Forward messages until the client closes its side, then wait for pending answers."""
        self._connect()
        for line in self._client:
            self._pass_on(line, _parse(line))
        if self._engine:
            self._engine.finish()

    def _pass_on(self, line: bytes, message: Message) -> None:
        method = message.get("method")
        if method == "initialize":
            self._handshake = {}
        try:
            while not (self._engine and self._engine.send(line, message)):
                self._connect()
        except QuinionError as error:
            if method and "id" in message:
                self._answer(_error(message["id"], error.message))
        if method in ("initialize", "notifications/initialized"):
            self._handshake[method] = line

    def _connect(self) -> None:
        """Connect to the current engine and replay the client's handshake, if it had one.

        Raises:
            QuinionError: no engine can be reached or started.
        """
        self._engine = _EngineConnection(self._attach(), self._answer)
        try:
            self._engine.replay(list(self._handshake.values()))
        except OSError as error:
            raise QuinionError(
                f"The engine stopped right after connecting ({error}). Call again."
            ) from error
        self._engine.listen()

    def _answer(self, line: bytes) -> None:
        try:
            with self._answering:
                self._answers.write(line)
                self._answers.flush()
        except OSError:
            os._exit(1)  # the client exited without closing its side


class _EngineConnection:
    """Connection to an engine; tracks the pending requests of both sides."""

    def __init__(self, connection: socket.socket, answer: Callable[[bytes], None]) -> None:
        self._socket = connection
        self._lines = connection.makefile("rb")
        self._answer = answer
        self._lock = threading.Lock()
        self._alive = True
        self._calls: dict[str, object] = {}
        self._engine_requests: set[str] = set()
        self._listener = threading.Thread(target=self._forward_answers, daemon=True)

    def replay(self, handshake: list[bytes]) -> None:
        """Resend the client's handshake and drop the answer, which the client already has."""
        for line in handshake:
            self._socket.sendall(line)
            if "id" in _parse(line) and not self._lines.readline():
                raise ConnectionResetError("no answer to the handshake")

    def listen(self) -> None:
        """Start forwarding the engine's messages to the client."""
        self._listener.start()

    def send(self, line: bytes, message: Message) -> bool:
        """Send a message; false if it must go to another engine."""
        key = json.dumps(message.get("id"))
        is_call = "method" in message and "id" in message
        with self._lock:
            if not self._alive:
                return False
            if is_call:
                self._calls[key] = message["id"]
            elif "method" not in message and key not in self._engine_requests:
                return True  # an answer to a request of an engine that has stopped
        try:
            self._socket.sendall(line)
        except OSError:
            with self._lock:
                # A call that is no longer listed was answered when the engine stopped.
                return is_call and self._calls.pop(key, None) is None
        if message.get("method") == "notifications/cancelled":
            self._forget((message.get("params") or {}).get("requestId"))
        return True

    def finish(self) -> None:
        """Close the sending side and wait for pending answers."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            return
        self._listener.join(FINISH_S)

    def _forward_answers(self) -> None:
        try:
            for line in self._lines:
                self._track(_parse(line))
                self._answer(line)
        except OSError:
            pass
        with self._lock:
            self._alive = False
            calls, self._calls = self._calls, {}
        for call in calls.values():
            self._answer(_error(call, ENGINE_STOPPED))
        self._socket.close()

    def _track(self, message: Message) -> None:
        if "method" not in message:
            self._forget(message.get("id"))
        elif "id" in message:
            with self._lock:
                self._engine_requests.add(json.dumps(message["id"]))

    def _forget(self, call: object) -> None:
        with self._lock:
            self._calls.pop(json.dumps(call), None)


def _parse(line: bytes) -> Message:
    """Parse a message; empty if it is invalid, because the server reports that."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _error(call: object, text: str) -> bytes:
    error = {"code": INTERNAL_ERROR, "message": text}
    return json.dumps({"jsonrpc": "2.0", "id": call, "error": error}).encode() + b"\n"
