"""Search: query → hits."""
