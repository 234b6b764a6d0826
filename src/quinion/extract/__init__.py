"""Extraction: read pages from PDFs, images and text files, with OCR for pages without a text layer.

The code is blocking and runs in worker processes. `document.py` is the entry point for pages,
`markdown/reader.py` for Markdown and `textfile.py` for text files.
"""
