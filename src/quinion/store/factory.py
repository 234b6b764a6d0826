"""Factory of the store and its mirror: the only module that chooses an adapter."""

from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from quinion.errors import ExtraMissing
from quinion.store.base import VectorStore
from quinion.store.chroma.client import Location
from quinion.store.chroma.follower import Follower
from quinion.store.chroma.replicator import Replicator
from quinion.store.embedded.database import FILE
from quinion.store.embedded.legacy import adopt_ledger
from quinion.store.embedded.raw_reader import RawReader
from quinion.store.embedded.store import EmbeddedStore

if TYPE_CHECKING:
    from quinion.store.bucket import Bucket

STORE = "store"
"""The folder of the store: in the home, or in the folder that CHROMA_PERSIST_DIR names."""
RESTORING = "restoring.json"
"""File in a home that lists what a restore moves into it, until it is complete."""
REBUILT = ".rebuilt"
"""Name suffix of a rebuilt store until the damaged one has been moved aside."""


@dataclass(frozen=True, slots=True)
class StorePlace:
    """Location of a store and its mirror.

    `folder` is the store's folder. Without one, the store is in the `database` if that has an
    address, else in memory. A `standby` of the database answers reads. `mirror` is a folder or
    the address of a server, which is unused if `mirrored` is false.
    """

    home: Path
    folder: Path | None
    mirror: Location | None = None
    mirrored: bool = True
    database: str | None = field(default=None, repr=False)
    standby: str | None = field(default=None, repr=False)

    @property
    def is_in_memory(self) -> bool:
        """Whether the store is gone when it is closed."""
        return self.folder is None and self.database is None

    @property
    def target(self) -> Location | None:
        """The mirror in use, or `None`."""
        return self.mirror if self.mirrored else None


def open_store(place: StorePlace) -> VectorStore:
    """Open the store of a home, migrate it to the current schema, and start replication and, if
    the keyword index is not complete, its builder.

    Raises:
        StoreUnavailable: it can't be opened; the message says what to do.
        ExtraMissing: there is an address of a database, but its client is not installed.
    """
    if place.database:
        return _open_database(place.database, place)
    if place.folder:
        adopt_ledger(place.home, place.folder, str(place.mirror))
        finish_rebuild(place.folder)
    store = EmbeddedStore(place.folder, mirrored=place.target is not None)
    if place.target:
        store.mirror = Replicator(store, place.target)
    store.complete_keywords()
    return store


def _open_database(url: str, place: StorePlace) -> VectorStore:
    # Imported here because most users have no database.
    try:
        from quinion.store.postgres.store import PostgresStore  # noqa: PLC0415
    except ImportError as error:
        raise ExtraMissing(
            "QUINION_DATABASE_URL is set, but the client of PostgreSQL cannot be imported: "
            f"{error}. Run: pip install 'psycopg[binary]>=3.3,<4'"
        ) from error
    store = PostgresStore(url, place.standby)
    if place.target:
        try:
            store.outbox.enable()
            store.mirror = Follower(store, place.target, store.leases)
        except BaseException:
            store.close()
            raise
    return store


def open_bucket(url: str) -> "Bucket":
    """Open the bucket of originals at an address.

    Raises:
        BadSetting: the address cannot be used.
        ExtraMissing: its client is not installed.
    """
    # Imported here because most users have no bucket.
    try:
        from quinion.store.bucket import Bucket  # noqa: PLC0415
    except ImportError as error:
        raise ExtraMissing(
            "QUINION_BLOBS_URL is set, but the client of buckets cannot be imported: "
            f"{error}. Run: pip install 'obstore>=0.12,<0.13'"
        ) from error
    return Bucket(url)


def describe_builds(place: StorePlace) -> list[str]:
    """Describe the keyword indexes of a home that are being built, also by another process.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    if place.folder is None or not (place.folder / FILE).exists():
        return []
    with closing(RawReader(place.folder)) as reader:
        return reader.describe_builds()


def finish_rebuild(folder: Path) -> None:
    """Move a rebuilt store into place, once the damaged one has been moved aside."""
    rebuilt = folder.with_name(f"{folder.name}{REBUILT}")
    if rebuilt.exists() and not folder.exists():
        rebuilt.rename(folder)
