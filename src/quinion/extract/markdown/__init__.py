"""Conversion of documents to Markdown with figures."""
