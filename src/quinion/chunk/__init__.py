"""Chunking: pages and file texts to chunks."""
