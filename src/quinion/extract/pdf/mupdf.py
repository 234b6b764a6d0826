"""The one place where PyMuPDF is imported, and how it is told to behave.

Text, images and paths are all that this stage wants from it. A process that imports this
module cannot load what else PyMuPDF has afterwards; whoever needs that has its own process.
"""
# PyMuPDF says that it has types, and leaves most of its functions without.
# mypy: allow-untyped-calls

import logging
import sys

# PyMuPDF loads its page-layout model and its writer of Markdown when it finds them. Reading text
# uses neither, and they cost 0.6 s and 80 MB in each worker. Inside PyMuPDF both are optional
# imports, and a None in the place of one is taken for "not installed".
for _optional in ("pymupdf.layout", "pymupdf4llm"):
    sys.modules.setdefault(_optional, None)  # type: ignore[arg-type]

import pymupdf  # noqa: E402  (it has to come after the line above)

# A worker's standard output is its channel to the parent, and PyMuPDF prints there what it
# thinks of damaged files. What a user must know arrives as an exception.
pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)
pymupdf.set_messages(pylogging_name=__name__, pylogging_level=logging.DEBUG)

DAMAGE = (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase)
"""What PyMuPDF raises at files that it cannot make sense of."""
OUT_OF_MEMORY = "code=2:"
"""How each of these begins at a file that needs more memory than it may have, whatever its type."""

__all__ = ["DAMAGE", "OUT_OF_MEMORY", "pymupdf"]
