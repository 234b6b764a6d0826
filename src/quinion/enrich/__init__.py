"""Descriptions and LaTeX of pictures, from a vision model."""
