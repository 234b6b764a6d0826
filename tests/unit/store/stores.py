"""Vector stores for tests."""

from pathlib import Path

from quinion.store.chroma import Chroma, Place
from quinion.store.ledger import Ledger
from quinion.store.vectors import VectorStore


def open_store(folder: Path | None, model: str = "model") -> VectorStore:
    """A store in this folder, as an engine opens it; None: in memory."""
    ledger = Ledger(folder / "ledger" if folder else None)
    return VectorStore(Chroma(Place(folder / "chroma" if folder else None)), ledger, lambda: model)
