"""Size limit of one answer."""

from collections.abc import Sequence
from typing import Any

import pydantic_core

MAX_RESULT_BYTES = (1 << 20) - (256 << 10)
"""Bytes available for the results of an answer; the rest is for echoed arguments. Python clients of
the SDK fail on a server-sent event over 1 MiB."""


def how_many_fit(parts: Sequence[Any]) -> int:
    """Count how many of the leading parts fit into one answer.

    An answer is sent twice: as structured content and as JSON text inside JSON. Over Streamable
    HTTP the SDK escapes all non-ASCII characters.
    """
    used = 0
    for count, part in enumerate(parts):
        used += measure(part)
        if used > MAX_RESULT_BYTES:
            return count
    return len(parts)


def measure(part: Any) -> int:
    """The bytes that a part takes in an answer."""
    text = pydantic_core.to_json(part, indent=2).decode()
    own = len(pydantic_core.to_json(part, indent=2, ensure_ascii=True))
    return own + len(pydantic_core.to_json(text, ensure_ascii=True))
