"""Search by words: what the stores share. Each store reads postings and records in its own way."""
