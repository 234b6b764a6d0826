"""Sections of a document: chapters, policies, numbered paragraphs, tables."""
