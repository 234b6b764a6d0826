"""OCR with Tesseract."""
