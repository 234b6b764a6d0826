"""Framing of messages between a process and the worker that it started: a length, then JSON.

JSON and not pickle, because a worker that a hostile file has compromised must not be able to run
code in the server. Pixels follow their frame as raw bytes, because JSON would double them.
"""

import json
import os
import sys
from typing import IO, Any

Frame = dict[str, Any]

LENGTH_BYTES = 4
MAX_FRAME_BYTES = 64 << 20
BUFFER_BYTES = 1 << 16


def encode(frame: Frame) -> bytes:
    """Encode a frame as JSON, prefixed with its length."""
    body = json.dumps(frame).encode()
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def decode_length(header: bytes) -> int:
    """Decode the length of the frame that follows."""
    return int.from_bytes(header, "big")


def decode(body: bytes) -> Frame:
    """Decode the JSON of a frame."""
    frame: Frame = json.loads(body)
    return frame


def receive(stream: IO[bytes]) -> Frame | None:
    """Read the next frame; None if the other process closed the stream or died. Blocking."""
    length = decode_length(stream.read(LENGTH_BYTES))
    body = stream.read(length)
    return decode(body) if length and len(body) == length else None


def take_stdout() -> IO[bytes]:
    """Return the original stdout for replies, and redirect output of libraries to stderr."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb", BUFFER_BYTES)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return replies
