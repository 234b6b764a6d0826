"""query → hits."""
