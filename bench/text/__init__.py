"""Text PDFs: ingest, cold start, memory and search against the plain stack and LlamaIndex.

`measure.py` is the entry point. `work.py` selects documents and questions, `rounds.py` runs the
measurements, `figures.py` lists the measured quantities, `stages.py` measures each stage alone,
`agreement.py` compares the stored chunks with the plain stack's, and `body.py` renders the result.
"""
