"""Exceptions of the server, and messages for errors of the file system."""

import os


class Failure(Exception):
    """A tool failed; the message is for the caller."""


class BadSetting(Exception):
    """The server cannot start with this configuration; the message names the variable."""


def refuse(operation: str, path: object, cause: OSError) -> Failure:
    """Make a `Failure` from a file system error: the operation, the path and the reason."""
    reason = cause.strerror or os.strerror(cause.errno or 0)
    return Failure(f"Cannot {operation} {path}: {reason}")
