"""Vectors of the embedded store: their files, binary codes, and the search over them."""
