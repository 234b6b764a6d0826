"""What goes through the pipe between the server and a worker: a length, then JSON.

JSON and not pickle, because a reader that a hostile file has taken over must not be able to
run code in the server.
"""

import json
from typing import Any

Frame = dict[str, Any]

LENGTH_BYTES = 4
MAX_FRAME_BYTES = 64 << 20


def encode(frame: Frame) -> bytes:
    """A frame with its length before it."""
    body = json.dumps(frame).encode()
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def decode_length(header: bytes) -> int:
    """How many bytes follow."""
    return int.from_bytes(header, "big")


def decode(body: bytes) -> Frame:
    """The frame whose bytes these are."""
    frame: Frame = json.loads(body)
    return frame
