"""Keyword index of the embedded store: its postings, their scores, and the search with them."""
