"""Vector stores for tests."""

from pathlib import Path

from quinion.store.apart import open_chroma
from quinion.store.chroma import Place
from quinion.store.ledger import Ledger
from quinion.store.vectors import VectorStore

opened: list[VectorStore] = []


def open_store(folder: Path | None, model: str = "model") -> VectorStore:
    """A store in this folder, as an engine opens it; None: in memory."""
    ledger = Ledger(folder / "ledger" if folder else None)
    chroma = open_chroma(Place(folder / "chroma" if folder else None))
    opened.append(VectorStore(chroma, ledger, lambda: model))
    return opened[-1]
