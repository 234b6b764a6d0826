"""Error mapping: from errors of the engine to the contract's messages and codes.

The messages are exactly those of the contract. `details.reason` has the cause and what to do.
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
from quinion.extract.formats import INDEXED, PDF
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
"""The contract defines a message for this error, but no code."""


class BudgetExceeded(QuinionError):
    """The token budget is smaller than the smallest result."""

    code = "BUDGET_EXCEEDED"


class ConfirmationRequired(QuinionError):
    """The caller or the user did not confirm the deletion."""

    code = "CONFIRMATION_REQUIRED"


def refuse(code: str, message: str) -> Failed:
    """The response to an error that no tool handles: a wrong argument or an internal error."""
    return Failed(error=message, error_code=CODES.get(code, code.upper()))


async def answer(work: Awaitable[T], on_store_error: Callable[[str], Failed]) -> Done[T] | Failed:
    """Wrap the result of `work` in the contract's envelope.

    `on_store_error` makes the response when the store fails.
    """
    try:
        return Done(data=await work)
    except StoreUnavailable as error:
        return on_store_error(error.message)
    except (ModelUnavailable, BadSetting) as error:
        return Failed(
            error="Embedding service unavailable",
            error_code="EMBEDDING_FAILED",
            details={"reason": error.message},
        )
    except (BudgetExceeded, ConfirmationRequired) as error:
        return Failed(error=error.message, error_code=error.code)


async def answer_about(path: str, work: Awaitable[T]) -> Done[T] | Failed:
    """Like `answer`, for work on the file or folder at `path`."""
    try:
        return await answer(work, storage_failure)
    except (FileProblem, ToolMissing) as error:
        return file_failure(path, error)


def file_failure(path: str, error: QuinionError) -> Failed:
    """The response when a file cannot be indexed."""
    match error:
        case FileUnreadable():
            message, code = f"Permission denied: {path}", "PERMISSION_DENIED"
        case FileMissing():
            message, code = f"File not found: {path}", "FILE_NOT_FOUND"
        case UnsupportedFile():
            extension = Path(path).suffix or Path(path).name
            message, code = f"Unsupported file format: {extension}", "UNSUPPORTED_FORMAT"
        case ModelUnavailable():
            message, code = "Embedding service unavailable", "EMBEDDING_FAILED"
        case _:
            message, code = "Failed to extract content", EXTRACTION_FAILED
    return Failed(error=message, error_code=code, details={"path": path, "reason": error.message})


def folder_file_failure(path: str, error: QuinionError) -> Failed:
    """The response for one file of a folder; here the contract also names the format."""
    failed = file_failure(path, error)
    kind = INDEXED.get(Path(path).suffix.lower())
    if failed.error_code == EXTRACTION_FAILED and kind:
        name = "PDF" if kind is PDF else kind.name
        return failed.model_copy(update={"error": f"{failed.error} from {name}"})
    return failed


def storage_failure(reason: str) -> Failed:
    """The response when the store fails during a write."""
    return Failed(
        error="The index could not be written",
        error_code="STORAGE_ERROR",
        details={"reason": reason},
    )


def search_failure(reason: str) -> Failed:
    """The response when the store fails during a search."""
    return Failed(error="The search failed", error_code="QUERY_FAILED", details={"reason": reason})


def deletion_failure(what: str) -> Callable[[str], Failed]:
    """The response when the store fails during a deletion; `what` is how it was addressed."""
    return lambda reason: Failed(
        error=f"Failed to delete by {what}: {reason}",
        error_code="DELETE_FAILED",
        details={"reason": reason},
    )
