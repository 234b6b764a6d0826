"""Texts to vectors."""

from quinion.embed.local import LocalEmbedder
from quinion.embed.port import Embedder, Vectors

__all__ = ["Embedder", "LocalEmbedder", "Vectors"]
