"""Local document-search engine behind five MCP servers.

Read the package in the order in which a document is processed: `extract` (file → pages),
`chunk` (pages → chunks), `embed` (texts → vectors), `store`, `ingest` (which combines these),
`search`, `engine`, `servers`, `daemon` and `cli`. Imports point from later packages to earlier
ones, never back.
"""

import os

__version__ = "0.1.0"

# ONNX Runtime sends telemetry unless it is switched off before the import, which may be in any
# module. Our own code connects only to addresses that the user configured.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
