"""Embedding models: text to vectors."""

from quinion.embed.base import Embedder, Vectors
from quinion.embed.local.embedder import LocalEmbedder

__all__ = ["Embedder", "LocalEmbedder", "Vectors"]
