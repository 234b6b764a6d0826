"""An MCP server that turns a document into Markdown and images with Mistral OCR.

A call goes through these modules: `tools` checks the paths (`source`, `sandbox`), `ocr` asks
the API, with image data going past memory into a `spool`, and `output` puts the images
(`images`) and the Markdown (`links`) into a folder.
"""

__version__ = "0.1.0"
