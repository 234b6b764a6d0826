"""Opens the store of a home, with its mirror: the one place that chooses an adapter."""

from dataclasses import dataclass
from pathlib import Path

from quinion.store.base import VectorStore
from quinion.store.chroma.client import Location
from quinion.store.chroma.replicator import Replicator
from quinion.store.embedded.legacy import adopt_ledger
from quinion.store.embedded.store import EmbeddedStore

STORE = "store"
"""The folder of the store: in the home, or in the folder that CHROMA_PERSIST_DIR names."""
REBUILT = ".rebuilt"
"""What the name of a rebuilt store ends with, until the damaged one has been moved aside."""


@dataclass(frozen=True, slots=True)
class StorePlace:
    """Where a store and its mirror are.

    `folder` is the store's own; None: in memory. `mirror` is a folder or the address of a server;
    `mirrored` False: it is not used.
    """

    home: Path
    folder: Path | None
    mirror: Location | None = None
    mirrored: bool = True

    @property
    def target(self) -> Location | None:
        """The mirror that is used; None: none. One in memory would have no reader."""
        return self.mirror if self.mirrored else None


def open_store(place: StorePlace) -> VectorStore:
    """The store of a home, migrated to the current schema; its mirror catches up by itself.

    Raises:
        StoreUnavailable: it can't be opened; the message says what to do.
    """
    if place.folder:
        adopt_ledger(place.home, place.folder, str(place.mirror))
        finish_rebuild(place.folder)
    store = EmbeddedStore(place.folder, mirrored=place.target is not None)
    if place.target:
        store.mirror = Replicator(store, place.target)
    return store


def finish_rebuild(folder: Path) -> None:
    """Put a rebuilt store into its place, where the damaged one is gone."""
    rebuilt = folder.with_name(f"{folder.name}{REBUILT}")
    if rebuilt.exists() and not folder.exists():
        rebuilt.rename(folder)
