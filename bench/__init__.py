"""Measurements: not tests, they print ratios and say which command made them.

`python -m bench` measures speed and writes `docs/benchmarks.md`. It is made of parts: `text/`,
`ocr.py` (scans), `judged.py` and `growth/`. A part comes back with what `part.py` defines, runs in
a process of its own (`runner.py`) and is told by `page.py`, `table.py` and `plot.py`. `sides.py`
runs ours and the peers (`peer.py`, `plain.py`, `llamaindex.py`), and `processes.py` knows what
processes cost.

The other modules measure how well something is found or read, and are run by themselves.
"""
