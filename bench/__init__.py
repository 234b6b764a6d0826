"""Measurements: not tests, they print ratios and say which command made them."""
