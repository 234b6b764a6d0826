"""pages → chunks."""
