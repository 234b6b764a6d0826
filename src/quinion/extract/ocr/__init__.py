"""Pixels to words, with Tesseract."""
