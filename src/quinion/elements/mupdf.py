"""PyMuPDF with its page-layout model, and how both are told to behave.

Only worker processes for elements import this. The workers that read text import
`quinion.extract.pdf.mupdf` instead, which keeps the model out; one process cannot do both.
"""
# PyMuPDF says that it has types, and leaves most of its functions without.
# mypy: allow-untyped-calls

import logging

import onnxruntime  # type: ignore[import-untyped]

_SessionOptions = onnxruntime.SessionOptions


def _single_threaded_options() -> onnxruntime.SessionOptions:
    options = _SessionOptions()
    options.intra_op_num_threads = 1
    return options


# Pages are spread over processes already. With its default of a thread for each core the model
# costs half as much processor time again, and the threads of two workers wait for each other.
# PyMuPDF offers no setting for it, and nothing else in such a process makes a session.
onnxruntime.SessionOptions = _single_threaded_options

import pymupdf  # noqa: E402  (it has to come after the line above)
import pymupdf.layout  # noqa: E402

# A worker's standard output is its channel to the parent, and PyMuPDF prints there what it
# thinks of damaged files. What a user must know arrives as an exception.
pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)
pymupdf.set_messages(pylogging_name=__name__, pylogging_level=logging.DEBUG)

DAMAGE = (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase)
"""What PyMuPDF raises at files that it cannot make sense of."""

__all__ = ["DAMAGE", "pymupdf"]
