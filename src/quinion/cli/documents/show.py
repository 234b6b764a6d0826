"""`quinion show`: the page of a search result, with the passage marked.

The results of the last search are remembered in the home, by their numbers.
"""

import base64
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import typer
from mcp.types import CallToolResult, ImageContent

from quinion.cli.documents.last_search import recall
from quinion.cli.documents.search import SEARCHED
from quinion.cli.documents.terminal_image import choose_encoding
from quinion.cli.options import print_result
from quinion.cli.server_client import connect
from quinion.errors import InvalidInput, QuinionError
from quinion.settings import Settings

TOOL = "show_evidence"


@dataclass(frozen=True, slots=True)
class MarkedPage:
    """A page with the passage marked, as a PNG, and what the server says about it."""

    png: bytes
    document: str
    page: int
    page_count: int
    note: str | None


def run(
    settings: Settings, what: str, page: int | None, output: Path | None, *, as_json: bool
) -> None:
    """Show the page in the terminal, or write it to a file; with `as_json` always to a file.

    Raises:
        InvalidInput: there is no such result.
        QuinionError: the page cannot be shown, or the file cannot be written.
    """
    servers, chunk_id = _find(settings, what)
    marked = anyio.run(_fetch, settings, servers, chunk_id, page)
    encode = choose_encoding(os.environ, is_terminal=sys.stdout.isatty())
    title = f"{marked.document}, page {marked.page} of {marked.page_count}"
    if output is None and encode is not None and not as_json:
        sys.stdout.write(f"{encode(marked.png)}\n")
        typer.echo(title)
    else:
        path = _write(marked, output, chunk_id)
        facts = {"document": marked.document, "page": marked.page, "page_count": marked.page_count}
        print_result(
            as_json,
            {"chunk_id": chunk_id, **facts, "note": marked.note, "file": path},
            f"{title}: {path.as_uri()}",
        )
    if marked.note and not as_json:
        typer.echo(marked.note)


def _find(settings: Settings, what: str) -> tuple[Sequence[str], str]:
    """Return the servers to ask and the chunk that is meant."""
    if not re.fullmatch(r"\d{1,4}", what):
        return SEARCHED, what
    server, chunk_id = recall(settings.home, int(what))
    return [server], chunk_id


async def _fetch(
    settings: Settings, servers: Sequence[str], chunk_id: str, page: int | None
) -> MarkedPage:
    arguments = {"chunk_id": chunk_id, "marked": True, **({"page": page} if page else {})}
    message = ""
    for name in servers:
        async with connect(settings, name) as client:
            result = await client.call_tool(TOOL, arguments)
        if (found := _read(result)) is not None:
            return found
        message = message or _failure(result)
    if len(servers) > 1:
        raise InvalidInput(f"No server can show {chunk_id!r}: {message}")
    raise QuinionError(message)


def _read(result: CallToolResult) -> MarkedPage | None:
    answer = result.structured_content or {}
    for part in result.content:
        if isinstance(part, ImageContent):
            return MarkedPage(
                base64.b64decode(part.data),
                answer["document"],
                answer["page"],
                answer["page_count"],
                answer["note"],
            )
    return None


def _failure(result: CallToolResult) -> str:
    answer = result.structured_content or {}
    details = answer.get("details") or {}
    text = answer.get("message") or details.get("reason") or answer.get("error") or "no answer"
    return str(text).removeprefix("Error: ")


def _write(marked: MarkedPage, output: Path | None, chunk_id: str) -> Path:
    """Write the image to the file, or to a new temporary one that only the user can read."""
    try:
        if output is not None:
            output.write_bytes(marked.png)
            return output.absolute()
        name = re.sub(r"[^\w.-]+", "_", chunk_id)[:80]
        with tempfile.NamedTemporaryFile(
            prefix=f"quinion-{name}-page-{marked.page}-", suffix=".png", delete=False
        ) as file:
            file.write(marked.png)
            return Path(file.name)
    except OSError as error:
        place = output or tempfile.gettempdir()
        raise QuinionError(f"{place} cannot be written ({error.strerror}).") from error
