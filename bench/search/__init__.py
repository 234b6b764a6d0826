"""Quality of search by meaning, by words and by both, and what it costs."""
