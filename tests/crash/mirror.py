"""Reader of the Chroma mirror through Chroma's library, in a separate process.

    python -m tests.crash.mirror

Reads locations from stdin, one per line, and prints the checksum of every record in that Chroma,
by collection and id. The process lives as long as its reader, because importing Chroma takes most
of the time.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from quinion.model.record import Record
from quinion.store.checksum import sum_record
from quinion.store.embedded.raw_reader import RawReader

Checksums = dict[str, dict[str, int | None]]
"""Checksums of records by collection and id."""


class MirrorReader:
    """Compares mirrors with stores. Use `mirror_reader`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.mirror"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        self._process.communicate()

    def compare(self, store: Path, location: Path | str) -> list[str]:
        """Return a line for each difference between the mirror and a closed store."""
        ours = read_store(store)
        assert self._process.stdin
        assert self._process.stdout
        print(location, file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())
        if isinstance(answer, str):
            return [f"the mirror can't be read: {answer}"]
        return [*_compare(ours, answer)]


@contextmanager
def mirror_reader() -> Iterator[MirrorReader]:
    with closing(MirrorReader()) as reader:
        yield reader


def check_store(folder: Path) -> list[str]:
    """Return the problems of a closed store."""
    with closing(RawReader(folder)) as reader:
        problems = reader.find_damage()
        for name in reader.collections():
            problems += reader.check(name)[0].problems
        return problems


def read_store(folder: Path) -> Checksums:
    """Return the records of a closed store."""
    with closing(RawReader(folder)) as reader:
        return {
            name: {one.id: one.checksum for some in reader.read(name) for one in some}
            for name in reader.collections()
        }


def _compare(ours: Checksums, theirs: Checksums) -> Iterator[str]:
    for name in sorted({*ours, *theirs}):
        here, there = ours.get(name, {}), theirs.get(name, {})
        for what, ids in (
            ("lacks", here.keys() - there.keys()),
            ("still has", there.keys() - here.keys()),
            (
                "has another version of",
                {id_ for id_ in here if there.get(id_, here[id_]) != here[id_]},
            ),
        ):
            if ids:
                yield f"the mirror {what} {len(ids)} records of {name}, {min(ids)} for one"


def _read_chroma(location: str) -> Checksums:
    import chromadb
    from chromadb.api.shared_system_client import SharedSystemClient
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    client: Any
    if "://" in location:
        address = urlsplit(location)
        client = chromadb.HttpClient(
            address.hostname or "", address.port or 8000, settings=settings
        )
    else:
        client = chromadb.PersistentClient(location, settings=settings)
    try:
        return {one.name: _sum_records(one) for one in client.list_collections()}
    finally:
        client.close()
        SharedSystemClient.clear_system_cache()


def _sum_records(collection: Any) -> dict[str, int | None]:
    got = collection.get(include=["documents", "metadatas", "embeddings"])
    rows = zip(got["ids"], got["documents"], got["metadatas"], got["embeddings"], strict=True)
    return {
        id_: sum_record(Record(id_, text or "", dict(metadata or {})), vector)
        for id_, text, metadata, vector in rows
    }


def main() -> None:
    for line in sys.stdin:
        try:
            answer: object = _read_chroma(line.strip())
        except Exception as error:  # Chroma raises its own exceptions and SQLite's
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
