"""PDF files: text layer, lines, metadata, and pages as pixels."""
