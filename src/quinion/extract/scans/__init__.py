"""Decide whether a document is a scan, which is read, or a picture, which is skipped."""
