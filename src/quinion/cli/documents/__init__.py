"""Commands on documents and folders: ingest, index and search."""
