"""Benchmarks of the elements stage against manual labels."""
