"""Embedding models behind an HTTP API or on a GPU."""
