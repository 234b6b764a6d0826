"""Framing of messages between the server and a worker: a length, then JSON.

JSON and not pickle, because a worker that a hostile file has compromised must not be able to run
code in the server.
"""

import json
from typing import Any

Frame = dict[str, Any]

LENGTH_BYTES = 4
MAX_FRAME_BYTES = 64 << 20


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
