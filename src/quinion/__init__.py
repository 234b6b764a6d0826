"""One document engine behind five MCP servers.

Read the package in the order a document travels: `extract` (file → pages), `chunk`
(pages → chunks), `embed` (texts → vectors), `store`, `search`, `pipeline` (the
compositions), `servers` and `cli`. Imports point from the last to the first, never back.
"""

import os

__version__ = "0.1.0"

# ONNX Runtime reports its use to its maker unless it is told not to before it is imported, which
# is anywhere below. Nothing of ours goes online unless the user named an address.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
