"""Classification: the name and text of a document → its type."""
