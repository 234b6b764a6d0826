"""How much one answer may carry."""

from collections.abc import Sequence
from typing import Any

import pydantic_core

MAX_RESULT_BYTES = (1 << 20) - (256 << 10)
"""Bytes for the parts of a result; the rest is for what is echoed. Python clients of the SDK
give up on a server-sent event over 1 MiB."""


def how_many_fit(parts: Sequence[Any]) -> int:
    """How many of the parts, from the first on, one answer can carry.

    An answer travels twice: as structured content, and as a JSON text inside of JSON. Over
    Streamable HTTP the SDK escapes all that is not ASCII.
    """
    used = 0
    for count, part in enumerate(parts):
        text = pydantic_core.to_json(part, indent=2).decode()
        used += len(pydantic_core.to_json(part, indent=2, ensure_ascii=True))
        used += len(pydantic_core.to_json(text, ensure_ascii=True))
        if used > MAX_RESULT_BYTES:
            return count
    return len(parts)
