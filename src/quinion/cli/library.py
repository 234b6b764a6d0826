"""`quinion library …`: the documents of doclibrary, their figures, tables and equations.

All of it goes through the server's tools, in this process or in the one that has the home.
"""

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import anyio
import typer
from mcp import Client
from mcp.types import ImageContent, TextContent
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from quinion.cli.client import Answer, call, connect
from quinion.cli.files import find_documents
from quinion.cli.gallery import Gallery
from quinion.cli.report import fail
from quinion.errors import InvalidInput, QuinionError
from quinion.servers import doclibrary
from quinion.servers.doclibrary.adding import EXTENSIONS
from quinion.settings import Settings

T = TypeVar("T")

app = typer.Typer(help="A library of technical PDFs and their figures.", add_completion=False)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Slug = Annotated[str, typer.Argument(help="The document, as `quinion library list` names it.")]


@app.command()
def add(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="PDFs or folders.")],
    json: Json = False,
) -> None:
    """Add PDFs: their text, figures, tables and equations.

    Example: quinion library add manual.pdf ./reports
    """
    files = find_documents(paths, EXTENSIONS)
    if not files:
        raise InvalidInput(f"There is no PDF in {', '.join(map(str, paths))}.")
    answers = _run(partial(_add, files=files))
    if json:
        _print_json([{"file": str(file), **answer} for file, answer in answers.items()])
    else:
        for file, answer in answers.items():
            _tell_added(file, answer)
    raise typer.Exit(int(any("error" in answer for answer in answers.values())))


@app.command("list")
def list_(json: Json = False) -> None:
    """List the documents of the library."""
    documents = _run(_documents)
    if json:
        _print_json(documents)
        return
    table = Table("slug", Column("title", overflow="fold"), "pages", "elements", "added")
    for document in documents:
        counts = document["indexed_elements"]
        elements = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        row = (document["slug"], document["title"], str(document["total_pages"]), elements)
        table.add_row(*map(escape, (*row, document["date_added"][:10])))
    Console().print(table if documents else "The library is empty. See quinion library add --help.")


@app.command()
def show(
    slug: Slug,
    label: Annotated[str | None, typer.Argument(help='A label, e.g. "Figure 8-1".')] = None,
    page: Annotated[int | None, typer.Option(help="A page, or the page of the label.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="PNG file to write.")] = None,
    json: Json = False,
) -> None:
    """Tell about a document or an element; with --out, write its picture.

    Example: quinion library show usgs_snyder "Figure 8-1" --out figure.png
    """
    if out is not None and label is None and page is None:
        raise InvalidInput("--out needs a label or --page: what is the picture of?")
    if label is None:
        answer = _run(partial(_ask, tool="get_document_info", arguments={"document_slug": slug}))
    else:
        arguments = {"document_slug": slug, "element_label": label, "page_number": page}
        answer = _run(partial(_ask, tool="get_element_details", arguments=arguments))
    if json:
        _print_json(answer)
    else:
        for name, value in answer.items():
            if value not in ("", None):
                typer.echo(f"{name}: {value}")
    if out is not None:
        picture = _run(partial(_picture, slug=slug, label=label, page=page))
        with _writing(out):
            out.write_bytes(picture)
        typer.echo(f"Written: {out}", err=True)


@app.command()
def elements(slug: Slug, json: Json = False) -> None:
    """List the figures, tables and equations of a document."""
    found = _run(partial(_elements, slug=slug))
    if json:
        _print_json(found)
        return
    table = Table("label", "type", "page", Column("caption", overflow="fold"))
    for one in found:
        row = (one["element_label"], one["element_type"], str(one["page_number"]), one["caption"])
        table.add_row(*map(escape, row))
    Console().print(table if found else "No figure, table or equation was found in it.")


@app.command()
def enrich(
    slug: Slug,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="How many elements at the most.")
    ] = None,
    json: Json = False,
) -> None:
    """Have a vision model describe figures and tables, and write equations as LaTeX.

    Their pictures and captions are sent to DOCLIBRARY_VISION_URL. A run that was stopped goes on
    where it was.

    Example: quinion library enrich usgs_snyder
    """
    answer = _run(partial(_enrich, slug=slug, limit=limit))
    if json:
        _print_json(answer)
    else:
        _tell_enriched(answer)


@app.command()
def export(
    slug: Slug,
    folder: Annotated[Path, typer.Argument(help="Folder to write; it must not exist yet.")],
) -> None:
    """Write all elements of a document into a folder: pictures, captions, tables, and a page
    (index.html) that shows them.

    Example: quinion library export usgs_snyder ./snyder
    """
    if folder.exists():
        raise InvalidInput(f"{folder} exists. Name a folder that does not.")
    with _writing(folder):
        count = _run(partial(_export, slug=slug, folder=folder))
    typer.echo(f"{count} elements: {folder / 'index.html'}")


@app.command()
def remove(
    slug: Slug,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Take a document out of the library, and its original and pictures with it."""
    if not yes:
        typer.confirm(f"Remove {slug} and all that is kept of it?", abort=True, err=True)
    answer = _run(partial(_ask, tool="remove_document", arguments={"document_slug": slug}))
    if json:
        _print_json(answer)
    else:
        typer.echo(f"{slug} is removed.")


def _run(work: Callable[[Client], Awaitable[T]]) -> T:
    async def run() -> T:
        async with connect(Settings.from_environment(), doclibrary.NAME) as client:
            try:
                return await work(client)
            except QuinionError as error:
                failure = error
        # Out here: what leaves the client's block is wrapped by its task group.
        raise failure

    return anyio.run(run)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise QuinionError(f"{path} cannot be written ({error.strerror or error}).") from error


async def _ask(client: Client, tool: str, arguments: Answer, progress: Any = None) -> Answer:
    given = {name: value for name, value in arguments.items() if value is not None}
    answer = await call(client, tool, given, progress)
    if "error" in answer:
        raise QuinionError(answer["error"].removeprefix("Error: "))
    return answer


async def _add(client: Client, files: list[Path]) -> dict[Path, Answer]:
    answers: dict[Path, Answer] = {}
    with _bars() as bars:
        for file in files:
            bar = bars.add_task(escape(file.name), total=None)

            async def show(
                done: float, total: float | None, message: str | None, bar: Any = bar
            ) -> None:
                bars.update(bar, completed=done, total=total, description=escape(message or ""))

            answers[file] = await call(client, "add_document", {"file_path": str(file)}, show)
            bars.remove_task(bar)
    return answers


async def _enrich(client: Client, slug: str, limit: int | None) -> Answer:
    with _bars() as bars:
        bar = bars.add_task(escape(slug), total=None)

        async def show(done: float, total: float | None, message: str | None) -> None:
            bars.update(bar, completed=done, total=total, description=escape(message or ""))

        return await _ask(client, "enrich_document", {"document_slug": slug, "limit": limit}, show)


async def _documents(client: Client) -> list[Answer]:
    documents: list[Answer] = []
    page = 1
    while True:
        answer = await _ask(client, "list_documents_paginated", {"page": page, "page_size": 100})
        documents += answer["documents"]
        if page >= answer["pagination"]["total_pages"]:
            return documents
        page += 1


async def _elements(client: Client, slug: str) -> list[Answer]:
    return [element async for element in _each_element(client, slug)]


async def _each_element(client: Client, slug: str) -> AsyncIterator[Answer]:
    start: int | None = 0
    while start is not None:
        arguments = {"document_slug": slug, "from_element": start}
        answer = await _ask(client, "list_elements", arguments)
        for element in answer["elements"]:
            yield element
        start = answer["next_element"]


async def _picture(client: Client, slug: str, label: str | None, page: int | None) -> bytes:
    arguments: Answer = {"document_slug": slug, "element_label": label, "page_number": page}
    tool = "get_page_image" if label is None else "get_element_image"
    given = {name: value for name, value in arguments.items() if value is not None}
    result = await client.call_tool(tool, given)
    for part in result.content:
        if isinstance(part, ImageContent):
            return base64.b64decode(part.data)
    words = [part.text for part in result.content if isinstance(part, TextContent)]
    raise QuinionError(" ".join(words).removeprefix("Error: "))


async def _export(client: Client, slug: str, folder: Path) -> int:
    document = await _ask(client, "get_document_info", {"document_slug": slug})
    found = await _elements(client, slug)
    with _bars() as bars, Gallery(folder, document["title"]) as gallery:
        bar = bars.add_task(escape(slug), total=len(found))
        for element in found:
            picture = await _picture(client, slug, element["element_label"], element["page_number"])
            gallery.add(element, picture)
            bars.advance(bar)
    return len(found)


def _bars() -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _tell_added(file: Path, answer: Answer) -> None:
    if "error" in answer:
        fail(f"{file.name}: {answer['error']}")
        return
    document = answer["document"]
    counts = [f"{count} {kind}" for kind, count in document["indexed_elements"].items() if count]
    known = " (it was there already)" if answer["status"] == "already_in_library" else ""
    typer.echo(
        f"{file.name}: {document['slug']}, {document['total_pages']} pages, "
        f"{', '.join(counts) or 'no elements'}{known}"
    )


def _tell_enriched(answer: Answer) -> None:
    asked, remembered = answer["asked"], answer["remembered"]
    for one in answer["not_described"]:
        fail(f"{one['element_label']} on page {one['page_number']}: {one['reason']}")
    known = f", {remembered} of them known from before" if remembered else ""
    left = f"; {answer['remaining']} are left" if answer["remaining"] else ""
    typer.echo(f"{answer['document_slug']}: {asked + remembered} elements described{known}{left}.")


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
