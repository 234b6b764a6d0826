"""Growth: cost and latency of one index with 10,000, 100,000 and 1,000,000 chunks.

`measure.py` is the entry point. `made.py` generates the chunks, `fill.py` stores them in a separate
process, `ask.py` times searches, and `body.py` renders the result.
"""
