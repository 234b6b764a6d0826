"""MCP servers. Each folder is one contract; what stands beside them is shared."""
