"""Retries of API calls, for a limited time.

The client library can retry too, but follows `Retry-After` without a limit, even for a day.
"""

import logging
import random
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from time import time
from typing import TypeVar

import anyio
from mistralai.client.errors import MistralError

ATTEMPTS = 4
MAX_WAIT_S = 60.0
FIRST_WAIT_S = 1.0

TOO_MANY = 429
SERVER_FAULTS = range(500, 600)

log = logging.getLogger(__name__)
T = TypeVar("T")


async def call_with_retries(what: str, call: Callable[[], Awaitable[T]]) -> T:
    """Call the API; retry if it is busy (429) or fails (5xx).

    Raises:
        MistralError: no attempt is left, or the API asks for too long a pause.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            return await call()
        except MistralError as error:
            if error.status_code != TOO_MANY and error.status_code not in SERVER_FAULTS:
                raise
            pause = retry_after(error)
            if pause is None:
                pause = FIRST_WAIT_S * 2 ** (attempt - 1) * random.uniform(1, 1.5)  # noqa: S311
            if pause > MAX_WAIT_S:
                raise
            log.warning("%s: status %d, again in %.1f s", what, error.status_code, pause)
        await anyio.sleep(pause)
    return await call()


def retry_after(error: MistralError) -> float | None:
    """Seconds requested by `Retry-After`, which is a number or a date."""
    value = error.headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (TypeError, ValueError):
        return None
