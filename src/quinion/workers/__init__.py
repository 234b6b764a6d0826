"""Worker processes, which read files that may be hostile."""
