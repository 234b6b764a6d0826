"""The MCP App of search results: one HTML page, which the search tools of all servers name."""
