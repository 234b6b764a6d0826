"""What a caller can meet, and the words for what the system refuses."""

import os


class Failure(Exception):
    """A tool could not do what was asked; the message is for whoever called it."""


class BadSetting(Exception):
    """The server cannot start as it is configured; the message names the variable."""


def refuse(operation: str, path: object, cause: OSError) -> Failure:
    """A failure of the file system: what was tried, where, and what the system said."""
    reason = cause.strerror or os.strerror(cause.errno or 0)
    return Failure(f"Cannot {operation} {path}: {reason}")
