"""Documents of planning applications: their ingestion and what is recorded of them."""
