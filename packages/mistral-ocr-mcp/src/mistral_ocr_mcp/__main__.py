"""`python -m mistral_ocr_mcp`."""

from mistral_ocr_mcp.cli import main

main()
