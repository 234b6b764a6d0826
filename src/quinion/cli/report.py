"""What every command does with its log and its errors."""

import logging
import sys
from collections.abc import Callable

from quinion.errors import BadSetting, HomeInUse, InvalidDate, InvalidInput, QuinionError

EXIT_CODES = {InvalidInput.code: 2, InvalidDate.code: 2, BadSetting.code: 3, HomeInUse.code: 4}
"""What the process ends with; 1 for every other failure."""


def configure_logging() -> None:
    """To stderr: stdout belongs to answers, and on stdio to the protocol."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    for noisy in ("httpx", "httpx2", "chromadb", "mcp", "uvicorn"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # The client warns of each tool that a server does not list: those are ours.
    logging.getLogger("client").setLevel(logging.ERROR)


def run_reporting(command: Callable[[], object]) -> None:
    """Run a command; an error that a person can act on is one line, not a traceback."""
    configure_logging()
    try:
        command()
    except QuinionError as error:
        fail(error)
        sys.exit(EXIT_CODES.get(error.code, 1))


def fail(error: object) -> None:
    """Say on stderr what went wrong, in red where somebody looks."""
    line = f"quinion: {error}"
    print(f"\x1b[31m{line}\x1b[0m" if sys.stderr.isatty() else line, file=sys.stderr)
