"""Warning about documents in languages that the local embedding model was not made for."""

import logging
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from quinion.lexical.language import is_mostly_foreign

log = logging.getLogger(__name__)

SHOWN_NAMES = 10


def check_language(name: str, texts: Iterable[str]) -> bool:
    """Return whether most of a document is not in English, and log that."""
    is_foreign = is_mostly_foreign(texts)
    if is_foreign:
        log.warning("%r: %s", name, describe_foreign([name]))
    return is_foreign


def describe_foreign(paths: Sequence[str]) -> str:
    """Describe in one sentence which documents are affected, and what to do."""
    names = ", ".join(PurePath(path).name for path in sorted(paths)[:SHOWN_NAMES])
    more = f" and {len(paths) - SHOWN_NAMES} more" if len(paths) > SHOWN_NAMES else ""
    return (
        f"Most of the text is not in English: {names}{more}. The local embedding model was made "
        "for English, so searches by meaning find less there. docs/embedding.md names models for "
        "other languages."
    )
