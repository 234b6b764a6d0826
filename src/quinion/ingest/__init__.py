"""Ingestion: the stages combined, from a file to pages, chunks, vectors and elements."""
