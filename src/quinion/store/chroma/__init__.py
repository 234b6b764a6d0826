"""Chroma: a one-way mirror of the store for other programs, and a source to import from."""
