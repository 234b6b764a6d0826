"""Error responses in the format of Mistral's API."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from quinion.errors import FileProblem, QuinionError


class Problem(Exception):
    """A request that fails, with the status and body of the response."""

    def __init__(self, status: int, kind: str, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.code = code


def no_file(file_id: str) -> Problem:
    """The file does not exist or has been deleted."""
    return Problem(404, "not_found_error", "3000", f"No such file: {file_id}")


def bad_file(message: str) -> Problem:
    """The document cannot be read."""
    return Problem(400, "document_parser_invalid_file", "1901", message)


def too_large(limit: int) -> Problem:
    """The request or file exceeds the size limit."""
    return Problem(413, "invalid_request_file", "1902", f"At most {limit >> 20} MB are accepted.")


def invalid(field: str, message: str) -> JSONResponse:
    """An invalid field of a request, in the error format of FastAPI."""
    return JSONResponse(
        {"detail": [{"type": "value_error", "loc": ["body", field], "msg": message}]}, 422
    )


def answer_problem(_: Request, error: Exception) -> Response:
    """Convert a `Problem` to a response."""
    assert isinstance(error, Problem)
    return _respond(error.status, error.kind, error.code, str(error))


def answer_engine_error(_: Request, error: Exception) -> Response:
    """Convert an engine error to a response: 400 for a bad file, otherwise 500."""
    assert isinstance(error, QuinionError)
    if isinstance(error, FileProblem):
        return answer_problem(_, bad_file(error.message))
    return _respond(500, "internal_server_error", "1000", error.message)


def answer_validation_error(_: Request, error: Exception) -> Response:
    """Convert a pydantic error, without its input, which may contain a document."""
    assert isinstance(error, ValidationError)
    details: list[Mapping[str, Any]] = [
        {"type": problem["type"], "loc": ["body", *problem["loc"]], "msg": problem["msg"]}
        for problem in error.errors(include_input=False, include_url=False)
    ]
    return JSONResponse({"detail": details}, 422)


def _respond(status: int, kind: str, code: str, message: str) -> JSONResponse:
    return JSONResponse(
        {"object": "error", "message": message, "type": kind, "param": None, "code": code}, status
    )
