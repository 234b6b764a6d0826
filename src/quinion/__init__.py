"""One document engine behind five MCP servers.

Read the package in the order a document travels: `extract` (file → pages), `chunk`
(pages → chunks), `embed` (texts → vectors), `store`, `search`, `pipeline` (the
compositions), `servers` and `cli`. Imports point from the last to the first, never back.
"""

__version__ = "0.1.0"
