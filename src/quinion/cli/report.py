"""What every command does with its log and its errors."""

import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

from quinion.errors import BadSetting, HomeInUse, InvalidDate, InvalidInput, QuinionError

EXIT_CODES = {InvalidInput.code: 2, InvalidDate.code: 2, BadSetting.code: 3, HomeInUse.code: 4}
"""What the process ends with; 1 for every other failure."""
INTERRUPTED = 130

EXIT_MEANINGS = {
    0: "all is well",
    1: "something failed or is amiss; the message says what",
    2: "wrong arguments",
    3: "a setting, folder or port cannot be used",
    4: "the home is in use by another process",
    INTERRUPTED: "interrupted with Ctrl-C, as `quinion index --watch` is ended",
}
"""What a script may rely on; `docs/commands.md` has it from here."""


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
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def warn(name: object, answer: Mapping[str, Any]) -> None:
    """Say on stderr what an answer warns of; nothing, where it does not."""
    for warning in answer.get("warnings", ()):
        sys.stderr.write(f"{name}: {warning}\n")


def fail(error: object) -> None:
    """Say on stderr what went wrong, in red where somebody looks."""
    # Here, not above: few runs fail, and relays on stdio have no use for colours.
    from rich.console import Console

    # It knows what is a terminal, and NO_COLOR.
    console = Console(stderr=True, soft_wrap=True)
    console.print(f"quinion: {error}", style="red", markup=False, highlight=False)
