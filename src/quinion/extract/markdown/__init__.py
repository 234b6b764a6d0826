"""Documents to Markdown with figures."""
