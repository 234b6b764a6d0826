"""MCP server that converts documents to Markdown and images with Mistral OCR.

Path of a call: `tools` checks the paths (`source`, `sandbox`); `ocr` calls the API and writes
image data to a `spool` file instead of memory; `output` writes the images (`images`) and the
Markdown (`links`) to a folder.
"""

__version__ = "0.1.0"
