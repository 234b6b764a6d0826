"""Queue of documents to ingest, in PostgreSQL: servers hand them over, workers anywhere take them.

Needs the extra `quinion[cluster]`. Nothing here is imported without QUINION_DATABASE_URL and
QUINION_BLOBS_URL.
"""
