"""Section detection: chapters, policies, numbered paragraphs, tables."""
