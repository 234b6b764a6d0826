"""The embedded store: SQLite, a file of vectors and two indexes, in one folder or in memory."""
