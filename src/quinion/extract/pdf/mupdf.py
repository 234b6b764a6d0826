"""Import and configure PyMuPDF: the only place in extraction that imports it.

This stage needs only text, images and paths. A process that imports this module cannot load
PyMuPDF's layout model afterwards; code that needs the model runs in another process.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

import logging
import sys

# PyMuPDF loads its page-layout model and its Markdown writer if they are installed. Reading text
# uses neither, and they cost 0.6 s and 80 MB in each worker. Both are optional imports in PyMuPDF,
# and None in `sys.modules` makes them look as if they were not installed.
for _optional in ("pymupdf.layout", "pymupdf4llm"):
    sys.modules.setdefault(_optional, None)  # type: ignore[arg-type]

import pymupdf  # noqa: E402  (it has to come after the line above)

# A worker's stdout is its channel to the parent, and PyMuPDF prints messages about damaged files
# there. Errors that a user must know arrive as exceptions.
pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)
pymupdf.set_messages(pylogging_name=__name__, pylogging_level=logging.DEBUG)

DAMAGE = (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase)
"""Exceptions that PyMuPDF raises for damaged files."""
OUT_OF_MEMORY = "code=2:"
"""Prefix of the message of any of these exceptions when the memory limit was exceeded."""

__all__ = ["DAMAGE", "OUT_OF_MEMORY", "pymupdf"]
