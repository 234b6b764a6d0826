"""Files to pages: PDFs, images and text files, with OCR where a page has no text layer.

The code blocks and runs in worker processes. Callers use `document.py`; `pdf/`, `ocr/`, `scans/`
and `markdown/` are its parts.
"""
