"""Rendering of views: one dictionary of data becomes a page, or JSON for programs.

Templates escape everything that they insert.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from quinion import __version__
from quinion.errors import InvalidInput, QuinionError

NAVIGATION = (
    ("Search", "/"),
    ("Documents", "/documents"),
    ("Policies", "/policies"),
    ("Library", "/library"),
    ("Folders", "/folders"),
    ("Health", "/engine"),
)
"""Links to the parts of the console."""

STATUS_BY_CODE = {
    "invalid_input": 400,
    "invalid_date": 400,
    "unsupported_file_type": 400,
    "busy": 503,
}
NOT_FOUND, FAILED = 404, 500


@dataclass(frozen=True, slots=True)
class View:
    """A template and its data, which is also the JSON form of the view."""

    template: str
    title: str
    data: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


class Pages:
    """Renders templates."""

    def __init__(self) -> None:
        self._environment = Environment(
            loader=PackageLoader("quinion.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(
            navigation=NAVIGATION, version=__version__, static=static_address
        )

    def render(self, template: str, **data: Any) -> str:
        """Render a template."""
        return self._environment.get_template(template).render(data)

    def respond(self, request: Request, view: View) -> Response:
        """Answer with a view, as a page or as JSON."""
        if wants_json(request):
            return JSONResponse(view.data, view.status)
        page = self.render(
            view.template,
            **view.data,
            title=view.title,
            path=request.url.path,
            csrf=request.scope.get("quinion.csrf", ""),
        )
        return HTMLResponse(page, view.status, headers={"Vary": "Accept"})


def show_error(error: QuinionError) -> View:
    """The view of an error."""
    code = error.code
    is_missing = code.endswith("not_found") or code.endswith("missing")
    status = NOT_FOUND if is_missing else STATUS_BY_CODE.get(code, FAILED)
    data = {"error": {"code": code, "message": error.message}}
    return View("error.html", "Error", data, status)


def read_number(given: QueryParams, name: str, default: int, largest: int = 10**6) -> int:
    """Read a positive number from an address.

    Raises:
        InvalidInput: it is not a positive number.
    """
    text = given.get(name, "") or str(default)
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):  # noqa: PLR2004
        raise InvalidInput(f"{name} must be a positive number, got {text[:100]!r}.")
    return min(int(text), largest)


def wants_json(request: Request) -> bool:
    """Whether a request asks for JSON, by `.json` or by its Accept header."""
    accept = request.headers.get("accept", "")
    return bool(request.scope.get("quinion.json")) or (
        "application/json" in accept and "text/html" not in accept
    )


@cache
def static_address(name: str) -> str:
    """The address of a static file; it changes with the file, so that browsers may keep it."""
    content = (files("quinion.console") / "static" / name).read_bytes()
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"
