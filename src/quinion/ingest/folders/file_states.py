"""States of files: whether what is indexed is still what is on the disk."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from quinion.ingest.folders.scan import is_missing
from quinion.ingest.source import Digests
from quinion.model.record import Record


class FileState(StrEnum):
    """State of a file of an index. `FAILED` ones could not be read since the engine started."""

    INDEXED = "indexed"
    CHANGED = "changed"
    VANISHED = "vanished"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file with its state; `indexed_at` is empty and `reason` given if it was never indexed."""

    path: str
    state: FileState
    indexed_at: str = ""
    reason: str = ""


def check_files(
    paths: Sequence[str],
    records: Mapping[str, Record],
    failures: Mapping[str, str],
    digests: Digests,
) -> list[CheckedFile]:
    """Compare files with their records. Blocking: a file modified since it was indexed is read."""
    return [_check(path, records.get(path), failures.get(path, ""), digests) for path in paths]


def _check(path: str, record: Record | None, failure: str, digests: Digests) -> CheckedFile:
    indexed_at = str(record.metadata["indexed_at"]) if record else ""
    if is_missing(path):
        return CheckedFile(path, FileState.VANISHED, indexed_at)
    if record is None or failure:
        return CheckedFile(path, FileState.FAILED, indexed_at, failure)
    try:
        has_changed = _is_newer(path, indexed_at) and digests(Path(path)) != str(
            record.metadata["doc_hash"]
        )
    except OSError as error:
        return CheckedFile(path, FileState.FAILED, indexed_at, error.strerror or str(error))
    return CheckedFile(path, FileState.CHANGED if has_changed else FileState.INDEXED, indexed_at)


def _is_newer(path: str, indexed_at: str) -> bool:
    """Whether a file was touched in the second in which it was indexed, or after it."""
    status = os.stat(path)  # noqa: PTH116 - of thousands of files, without a Path for each
    touched = datetime.fromtimestamp(max(status.st_mtime, status.st_ctime), UTC)
    return touched.replace(microsecond=0) >= datetime.fromisoformat(indexed_at)
