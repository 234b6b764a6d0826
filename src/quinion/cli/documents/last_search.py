"""Results of the last search, remembered in the home by their numbers."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from quinion.console.passages import Passage
from quinion.errors import InvalidInput

LAST_SEARCH = "last-search.json"
OWNER_ONLY = 0o600


def remember(home: Path, passages: Iterable[Passage]) -> None:
    """Remember the results of a search, for `quinion show`. A failure is ignored."""
    hits = [{"server": one.server, "chunk_id": one.chunk_id} for one in passages]
    with suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(home / LAST_SEARCH, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(hits, file)


def recall(home: Path, number: int) -> tuple[str, str]:
    """Return the server and the chunk of a result of the last search, by its number.

    Raises:
        InvalidInput: there is no such result, or it has no chunk to show.
    """
    try:
        hits = [
            (str(hit["server"]), str(hit["chunk_id"]))
            for hit in json.loads((home / LAST_SEARCH).read_bytes())
        ]
    except (OSError, ValueError, TypeError, KeyError):
        raise InvalidInput("No search is remembered. Run quinion search first.") from None
    if not 1 <= number <= len(hits):
        raise InvalidInput(f"The last search had results 1 to {len(hits)}; there is no {number}.")
    server, chunk_id = hits[number - 1]
    if not chunk_id:
        raise InvalidInput(f"Result {number} has no page to show.")
    return server, chunk_id
