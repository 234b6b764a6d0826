"""Logging, error messages and exit statuses of every command."""

import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

from quinion.errors import BadSetting, HomeInUse, InvalidDate, InvalidInput, QuinionError
from quinion.telemetry.logs import configure

EXIT_CODES = {InvalidInput.code: 2, InvalidDate.code: 2, BadSetting.code: 3, HomeInUse.code: 4}
"""Exit status by error code; any other error exits with 1."""
INTERRUPTED = 130

EXIT_MEANINGS = {
    0: "success",
    1: "a failure or a problem; the message describes it",
    2: "wrong arguments",
    3: "a setting, folder or port cannot be used",
    4: "the home is in use by another process",
    INTERRUPTED: "interrupted with Ctrl-C, which is how `quinion index --watch` is stopped",
}
"""Exit statuses that scripts may rely on; `docs/commands.md` is generated from this table."""


def configure_logging() -> None:
    """Log to stderr; stdout carries answers and, on stdio, the protocol."""
    configure("info", "text", log_requests=False)
    # The client warns about each unlisted tool; commands call unlisted tools on purpose.
    logging.getLogger("client").setLevel(logging.ERROR)


def run_reporting(command: Callable[[], object]) -> None:
    """Run a command; an error of quinion or of a file prints one line, not a traceback."""
    check_platform()
    configure_logging()
    try:
        command()
    except QuinionError as error:
        fail(error)
        sys.exit(EXIT_CODES.get(error.code, 1))
    except OSError as error:  # a file of another user, a full disk
        fail(_describe(error))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _describe(error: OSError) -> str:
    reason = error.strerror or type(error).__name__
    return f"{reason}: {error.filename}" if error.filename else reason


def check_platform() -> None:
    """Refuse Windows with one sentence: locks, sockets and limits of processes differ there."""
    if sys.platform == "win32":
        sys.stderr.write(
            "quinion: Windows is not supported. Install quinion in WSL (wsl --install), or run "
            "its Docker image (docs/installing.md).\n"
        )
        sys.exit(EXIT_CODES[BadSetting.code])


def name_count(count: int, noun: str) -> str:
    """Name a count of things: `1 chunk`, `1,200 chunks`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def warn(name: object, answer: Mapping[str, Any]) -> None:
    """Print the warnings of an answer to stderr."""
    for warning in answer.get("warnings", ()):
        sys.stderr.write(f"{name}: {warning}\n")


def fail(error: object) -> None:
    """Print an error to stderr, in red on a terminal."""
    # Imported here: few runs fail, and stdio relays need no colours.
    from rich.console import Console

    # rich detects terminals and honours NO_COLOR.
    console = Console(stderr=True, soft_wrap=True)
    console.print(f"quinion: {error}", style="red", markup=False, highlight=False)
