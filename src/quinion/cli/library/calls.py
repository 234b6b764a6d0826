"""Tool calls of the `quinion library` commands."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import Client
from mcp.types import ImageContent, TextContent

from quinion.cli.at_once import choose_at_once
from quinion.cli.library.gallery import Gallery
from quinion.cli.progress import Bars
from quinion.cli.server_client import Answer, call, connect
from quinion.concurrency import together
from quinion.errors import QuinionError
from quinion.servers import doclibrary
from quinion.settings import Settings

T = TypeVar("T")


def add_files(files: list[Path]) -> dict[Path, Answer]:
    """Add PDFs and return the answer for each file; it may be an error."""
    return _run(partial(_add, files=files))


def ask_tool(tool: str, arguments: Answer) -> Answer:
    """Call a tool and return its answer.

    Raises:
        QuinionError: the tool returned an error.
    """
    return _run(partial(_ask, tool=tool, arguments=arguments))


def list_documents() -> list[Answer]:
    """List all documents of the library."""
    return _run(_documents)


def list_elements(slug: str) -> list[Answer]:
    """List all elements of a document.

    Raises:
        QuinionError: no such document.
    """
    return _run(partial(_elements, slug=slug))


def enrich_document(slug: str, limit: int | None) -> Answer:
    """Describe the elements of a document with a vision model, showing progress.

    Raises:
        QuinionError: no such document, or no vision model.
    """
    return _run(partial(_enrich, slug=slug, limit=limit))


def fetch_picture(slug: str, label: str | None, page: int | None) -> bytes:
    """Fetch the PNG image of an element or a page.

    Raises:
        QuinionError: no such element or page.
    """
    return _run(partial(_picture, slug=slug, label=label, page=page))


def export_document(slug: str, folder: Path) -> int:
    """Write a gallery of all elements into a folder and return their number.

    Raises:
        QuinionError: no such document.
        OSError: the folder cannot be written.
    """
    return _run(partial(_export, slug=slug, folder=folder))


def _run(work: Callable[[Client], Awaitable[T]]) -> T:
    async def run() -> T:
        async with connect(Settings.from_environment(), doclibrary.NAME) as client:
            try:
                return await work(client)
            except QuinionError as error:
                failure = error
        # Raised outside the client's block, whose task group would wrap it in a group.
        raise failure

    return anyio.run(run)


async def _ask(client: Client, tool: str, arguments: Answer, progress: Any = None) -> Answer:
    given = {name: value for name, value in arguments.items() if value is not None}
    answer = await call(client, tool, given, progress)
    if "error" in answer:
        raise QuinionError(answer["error"].removeprefix("Error: "))
    return answer


async def _add(client: Client, files: list[Path]) -> dict[Path, Answer]:
    answers: dict[Path, Answer] = {}
    pending = iter(files)

    async def add_next() -> None:
        for file in pending:
            with bars.follow(file.name) as show:
                answers[file] = await call(client, "add_document", {"file_path": str(file)}, show)

    at_once = await choose_at_once(Settings.from_environment(), 1)
    with Bars() as bars:
        await together(*[add_next] * at_once)
    return {file: answers[file] for file in files}


async def _enrich(client: Client, slug: str, limit: int | None) -> Answer:
    with Bars() as bars, bars.follow(slug) as show:
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
    with (
        Bars() as bars,
        bars.follow(slug, len(found)) as show,
        Gallery(folder, document["title"]) as gallery,
    ):
        for done, element in enumerate(found, 1):
            picture = await _picture(client, slug, element["element_label"], element["page_number"])
            gallery.add(element, picture)
            await show(done, len(found), None)
    return len(found)
