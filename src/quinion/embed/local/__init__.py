"""all-MiniLM-L6-v2 on this machine's processor."""
