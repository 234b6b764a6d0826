"""Text PDFs: ingest, cold start, memory and search, ours against the plain stack and LlamaIndex.

`measure.py` puts it together: `work.py` says on what, `rounds.py` how it is measured, `figures.py`
what, `stages.py` what each stage takes alone, `agreement.py` whether ours and the plain stack have
stored the same, and `body.py` tells it.
"""
