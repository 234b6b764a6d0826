"""Benchmarks: they print ratios together with the command that produced them.

`python -m bench` measures speed and writes `docs/benchmarks.md`. It runs four parts: `text/`,
`ocr.py` (scans), `judged.py` and `growth/`. Each part runs in a separate process (`runner.py`)
and returns a `Part` (`part.py`). `page.py`, `table.py` and `plot.py` render the results.
`sides.py` drives quinion and the peers (`peer.py`, `plain.py`, `llamaindex.py`). `processes.py`
measures the memory and CPU time of process trees.

The other modules measure the quality of search, OCR and detection. Run them individually.
"""
