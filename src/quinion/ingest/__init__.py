"""Compositions of the stages: a file to pages, chunks, vectors and elements."""
