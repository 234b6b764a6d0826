"""A server on stdio, for desktop clients that start their servers themselves.

What the client starts is a small relay: the server is in the one engine that has the home,
together with those of all other clients. Messages are passed on as they are, in both directions.

When the engine ends, for whatever reason, the calls under way are answered with an error, and
the next message finds the engine that there is then or starts one. A client of the handshake
era has introduced itself once; that is said again to the new engine on its behalf.
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
GONE = (
    "The engine ended before it had answered. What it had acknowledged is kept. Call again: "
    "another engine is started."
)
LAST_WORDS_S = 10.0
"""How long the engine may take to answer a client that has closed its side."""


def serve_stdio(attach: Attach) -> None:
    """Serve one client until it closes stdin. `attach` finds the engine, or starts one.

    Raises:
        QuinionError: there is no engine to be had.
    """
    Relay(attach, sys.stdin.buffer, sys.stdout.buffer).run()


class Relay:
    """Passes messages on between a client and whichever engine there is."""

    def __init__(self, attach: Attach, client: BinaryIO, answers: BinaryIO) -> None:
        self._attach = attach
        self._client = client
        self._answers = answers
        self._answering = threading.Lock()
        self._link: _Link | None = None
        self._introduction: dict[str, bytes] = {}

    def run(self) -> None:
        """Pass messages on until the client closes its side; what is under way may end."""
        self._connect()
        for line in self._client:
            self._pass_on(line, _parse(line))
        if self._link:
            self._link.finish()

    def _pass_on(self, line: bytes, message: Message) -> None:
        method = message.get("method")
        if method == "initialize":
            self._introduction = {}
        try:
            while not (self._link and self._link.send(line, message)):
                self._connect()
        except QuinionError as error:
            if method and "id" in message:
                self._answer(_error(message["id"], error.message))
        if method in ("initialize", "notifications/initialized"):
            self._introduction[method] = line

    def _connect(self) -> None:
        """Go to the engine that there is now, and introduce the client again if it has been.

        Raises:
            QuinionError: there is no engine to be had.
        """
        self._link = _Link(self._attach(), self._answer)
        try:
            self._link.introduce(list(self._introduction.values()))
        except OSError as error:
            raise QuinionError(f"The engine ended as soon as it was reached ({error}).") from error
        self._link.listen()

    def _answer(self, line: bytes) -> None:
        try:
            with self._answering:
                self._answers.write(line)
                self._answers.flush()
        except OSError:
            os._exit(1)  # the client has gone without closing its side


class _Link:
    """A connection to an engine, and what each side waits for from the other."""

    def __init__(self, link: socket.socket, answer: Callable[[bytes], None]) -> None:
        self._link = link
        self._lines = link.makefile("rb")
        self._answer = answer
        self._lock = threading.Lock()
        self._alive = True
        self._calls: dict[str, object] = {}
        self._questions: set[str] = set()
        self._listener = threading.Thread(target=self._bring_answers, daemon=True)

    def introduce(self, introduction: list[bytes]) -> None:
        """Say what the client has said to an earlier engine; the answer is known to it."""
        for line in introduction:
            self._link.sendall(line)
            if "id" in _parse(line) and not self._lines.readline():
                raise ConnectionResetError("no answer to the introduction")

    def listen(self) -> None:
        """Bring what the engine says, until it ends."""
        self._listener.start()

    def send(self, line: bytes, message: Message) -> bool:
        """Send a message; false when it has to go to another engine."""
        key = json.dumps(message.get("id"))
        is_call = "method" in message and "id" in message
        with self._lock:
            if not self._alive:
                return False
            if is_call:
                self._calls[key] = message["id"]
            elif "method" not in message and key not in self._questions:
                return True  # the answer to a question of an engine that has gone
        try:
            self._link.sendall(line)
        except OSError:
            with self._lock:
                # If it is not there any more, it was answered when the engine ended.
                return is_call and self._calls.pop(key, None) is None
        if message.get("method") == "notifications/cancelled":
            self._forget((message.get("params") or {}).get("requestId"))
        return True

    def finish(self) -> None:
        """Say that the client says no more, and wait for the rest."""
        try:
            self._link.shutdown(socket.SHUT_WR)
        except OSError:
            return
        self._listener.join(LAST_WORDS_S)

    def _bring_answers(self) -> None:
        try:
            for line in self._lines:
                self._note(_parse(line))
                self._answer(line)
        except OSError:
            pass
        with self._lock:
            self._alive = False
            calls, self._calls = self._calls, {}
        for call in calls.values():
            self._answer(_error(call, GONE))
        self._link.close()

    def _note(self, message: Message) -> None:
        if "method" not in message:
            self._forget(message.get("id"))
        elif "id" in message:
            with self._lock:
                self._questions.add(json.dumps(message["id"]))

    def _forget(self, call: object) -> None:
        with self._lock:
            self._calls.pop(json.dumps(call), None)


def _parse(line: bytes) -> Message:
    """The message; empty if it is none, which is for the server to say."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _error(call: object, text: str) -> bytes:
    error = {"code": INTERNAL_ERROR, "message": text}
    return json.dumps({"jsonrpc": "2.0", "id": call, "error": error}).encode() + b"\n"
