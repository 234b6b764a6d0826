"""Comparison of two revisions of a document: pure functions from sections to rows."""
