"""Import and configure PyMuPDF with its page-layout model.

Only workers for elements and Markdown import this. Workers that read text import
`quinion.extract.pdf.mupdf` instead, which blocks the model; one process cannot do both.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

import logging

import onnxruntime  # type: ignore[import-untyped]

_SessionOptions = onnxruntime.SessionOptions


def _single_threaded_options() -> onnxruntime.SessionOptions:
    options = _SessionOptions()
    options.intra_op_num_threads = 1
    return options


# Pages run in parallel in several processes already. With its default of one thread per core the
# model costs half as much processor time again, and the threads of two workers wait for each other.
# PyMuPDF has no setting for it, and no other code in this process creates a session.
onnxruntime.SessionOptions = _single_threaded_options

import pymupdf  # noqa: E402  (it has to come after the line above)
import pymupdf.layout  # noqa: E402

# A worker's stdout is its channel to the parent, and PyMuPDF prints messages about damaged files
# there. Errors that a user must know arrive as exceptions.
pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)
pymupdf.set_messages(pylogging_name=__name__, pylogging_level=logging.DEBUG)

DAMAGE = (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase)
"""Exceptions that PyMuPDF raises for damaged files."""

__all__ = ["DAMAGE", "pymupdf"]
