"""Text analysis for the keyword index: words of texts and of queries, without I/O."""
