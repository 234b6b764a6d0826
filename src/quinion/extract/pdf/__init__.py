"""PDF files: text layer, lines, metadata, and rasterized pages."""
