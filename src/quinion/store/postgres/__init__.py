"""Store in PostgreSQL with pgvector; needs the extra `quinion[postgres]`."""
