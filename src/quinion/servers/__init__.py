"""MCP servers: one folder per server contract, and the modules that they share."""
