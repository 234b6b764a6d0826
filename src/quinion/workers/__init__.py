"""Worker processes that read untrusted files, and their pool."""
