"""Evidence: where a chunk lies on its pages, and pages with the passage marked."""
