"""Growth: one index of 10,000, then 100,000, then 1,000,000 chunks, and what each size costs.

`made.py` makes the chunks, `fill.py` stores them in a process of its own, `ask.py` times searches,
`measure.py` puts it together, and `body.py` tells it.
"""
