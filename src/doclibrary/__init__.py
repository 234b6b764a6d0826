"""Name under which the doclibrary contract starts its server; see `servers.mcp`."""
