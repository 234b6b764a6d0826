"""file → pages: PDFs and images, with OCR where a page has no text of its own.

Blocking code for worker processes; `document` is what the pipeline calls.
"""
