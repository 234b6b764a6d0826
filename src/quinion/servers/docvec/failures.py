"""How errors of the engine are worded: the contract's messages and codes.

The contract's messages are kept to the letter; what exactly is wrong, and what to do, is in
`details.reason`.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from quinion.errors import (
    BadSetting,
    FileMissing,
    FileProblem,
    FileUnreadable,
    InvalidInput,
    ModelUnavailable,
    QuinionError,
    StoreUnavailable,
    ToolMissing,
    UnsupportedFile,
)
from quinion.model.file_format import FORMATS
from quinion.servers.docvec.answers import Done, Failed

T = TypeVar("T")

CODES = {
    InvalidInput.code: "INVALID_INPUT",
    FileMissing.code: "FILE_NOT_FOUND",
    FileUnreadable.code: "PERMISSION_DENIED",
    UnsupportedFile.code: "UNSUPPORTED_FORMAT",
    ModelUnavailable.code: "EMBEDDING_FAILED",
    BadSetting.code: "EMBEDDING_FAILED",
    StoreUnavailable.code: "STORAGE_ERROR",
    QuinionError.code: "INTERNAL_ERROR",
}
EXTRACTION_FAILED = "EXTRACTION_FAILED"
"""The contract has a message for this, and no code."""


class BudgetExceeded(QuinionError):
    """Not even the smallest result fits."""

    code = "BUDGET_EXCEEDED"


class ConfirmationRequired(QuinionError):
    """Nobody has confirmed."""

    code = "CONFIRMATION_REQUIRED"


def refuse(code: str, message: str) -> Failed:
    """A failure that no tool has worded: a wrong argument, or a fault of ours."""
    return Failed(error=message, error_code=CODES.get(code, code.upper()))


async def answer(work: Awaitable[T], word_store: Callable[[str], Failed]) -> Done[T] | Failed:
    """The outcome of the work in the contract's envelope; `word_store` is said of the store."""
    try:
        return Done(data=await work)
    except StoreUnavailable as error:
        return word_store(error.message)
    except (ModelUnavailable, BadSetting) as error:
        return Failed(
            error="Embedding service unavailable",
            error_code="EMBEDDING_FAILED",
            details={"reason": error.message},
        )
    except (BudgetExceeded, ConfirmationRequired) as error:
        return Failed(error=error.message, error_code=error.code)


async def answer_about(path: str, work: Awaitable[T]) -> Done[T] | Failed:
    """The same, of work on a file or a folder."""
    try:
        return await answer(work, word_storing)
    except (FileProblem, ToolMissing) as error:
        return word_file(path, error)


def word_file(path: str, error: QuinionError) -> Failed:
    """What is wrong with a file."""
    match error:
        case FileUnreadable():
            message, code = f"Permission denied: {path}", "PERMISSION_DENIED"
        case FileMissing():
            message, code = f"File not found: {path}", "FILE_NOT_FOUND"
        case UnsupportedFile():
            extension = Path(path).suffix or Path(path).name
            message, code = f"Unsupported file format: {extension}", "UNSUPPORTED_FORMAT"
        case _:
            message, code = "Failed to extract content", EXTRACTION_FAILED
    return Failed(error=message, error_code=code, details={"path": path, "reason": error.message})


def word_in_folder(path: str, error: QuinionError) -> Failed:
    """What is wrong with one file of a folder: there, the contract names the format as well."""
    failed = word_file(path, error)
    kind = FORMATS.get(Path(path).suffix.lower())
    if failed.error_code == EXTRACTION_FAILED and kind:
        name = "PDF" if kind == "pdf" else kind
        return failed.model_copy(update={"error": f"{failed.error} from {name}"})
    return failed


def word_storing(reason: str) -> Failed:
    """The store failed while something was being written."""
    return Failed(
        error="The index could not be written",
        error_code="STORAGE_ERROR",
        details={"reason": reason},
    )


def word_searching(reason: str) -> Failed:
    """The store failed in a search."""
    return Failed(error="The search failed", error_code="QUERY_FAILED", details={"reason": reason})


def word_deleting(what: str) -> Callable[[str], Failed]:
    """The store failed while something was being deleted, by ids or by file."""
    return lambda reason: Failed(
        error=f"Failed to delete by {what}: {reason}",
        error_code="DELETE_FAILED",
        details={"reason": reason},
    )
