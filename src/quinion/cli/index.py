"""`quinion index`: folders into DocVec's index, once or for as long as it runs."""

import json
import math
import os
from pathlib import Path

import anyio
import typer
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from quinion.cli.client import Answer, call, connect
from quinion.cli.report import fail, warn
from quinion.errors import FileMissing, InvalidInput
from quinion.model.file_format import FORMATS
from quinion.servers import docvec
from quinion.settings import Settings

QUIET_S = 1.0
"""How long a folder has to be left alone before its changes are taken in: whoever is writing a
file is given the time to finish it."""
LONGEST_S = 30.0
"""How long that is waited for at most, in a folder that is never left alone."""
LOOK_MS = 100
"""How often it is looked whether something has happened."""


def run(
    settings: Settings,
    paths: list[Path],
    *,
    recursive: bool,
    prune: bool,
    watch: bool,
    as_json: bool,
) -> int:
    """Index; 1 when some file could not be."""
    for path in paths:
        if not path.exists():
            raise FileMissing(f"There is no file or folder {path}.")
    if watch and not all(path.is_dir() for path in paths):
        raise InvalidInput("--watch is for folders.")
    # As the index has them: absolute, and without `..`.
    named = [Path(os.path.normpath(path.absolute())) for path in paths]
    return anyio.run(_index, settings, named, recursive, prune, watch, as_json)


async def _index(
    settings: Settings, paths: list[Path], recursive: bool, prune: bool, watch: bool, as_json: bool
) -> int:
    async with connect(settings, docvec.NAME) as client:
        if not watch:
            return int(await _bring_into_step(client, paths, recursive, prune, as_json))
        await _watch(client, paths, recursive, as_json)
    return 0


async def _watch(client: Client, paths: list[Path], recursive: bool, as_json: bool) -> None:
    """Keep the index in step until this is interrupted."""
    send, changes = anyio.create_memory_object_stream[set[Path]](math.inf)
    async with anyio.create_task_group() as group:
        # Before the first run: what changes while it looks at the folders is not missed.
        group.start_soon(_send_changes, paths, recursive, send)
        await _bring_into_step(client, paths, recursive, True, as_json)
        if not as_json:
            typer.echo("Watching. Ctrl-C ends it; the index stays.")
        async for some in changes:
            changed = some | await _wait_until_quiet(changes)
            touched = [path for path in paths if any(one.is_relative_to(path) for one in changed)]
            await _bring_into_step(client, touched, recursive, True, as_json, only_news=True)


async def _wait_until_quiet(changes: MemoryObjectReceiveStream[set[Path]]) -> set[Path]:
    """What else changes, until nothing has for a while."""
    changed: set[Path] = set()
    with anyio.move_on_after(LONGEST_S):
        while True:
            with anyio.move_on_after(QUIET_S) as pause:
                changed |= await changes.receive()
            if pause.cancelled_caught:
                break
    return changed


async def _send_changes(
    paths: list[Path], recursive: bool, send: MemoryObjectSendStream[set[Path]]
) -> None:
    """Send what happens to documents and folders, as soon as it happens."""
    # Here, not above: most runs do not watch.
    from watchfiles import Change, awatch

    def concerns(_: Change, text: str) -> bool:
        path = Path(text)
        # What is no file may be a folder that was moved in, or something that has gone.
        return path.suffix.lower() in FORMATS or not path.is_file()

    async with send:
        async for changes in awatch(
            *paths, watch_filter=concerns, step=LOOK_MS, debounce=LOOK_MS, recursive=recursive
        ):
            await send.send({Path(path) for _, path in changes})


async def _bring_into_step(
    client: Client,
    paths: list[Path],
    recursive: bool,
    prune: bool,
    as_json: bool,
    *,
    only_news: bool = False,
) -> bool:
    """Index the paths, and say what became of them; true when something failed."""
    answers = {path: await _take_in(client, path, recursive) for path in paths}
    pruned = await _prune(client, paths) if prune else []
    if only_news and not pruned and not any(map(_is_news, answers.values())):
        return False
    if as_json:
        report = {"paths": {str(path): answer for path, answer in answers.items()}}
        typer.echo(json.dumps({**report, "pruned": pruned}, indent=2, ensure_ascii=False))
    else:
        _print_report(answers, pruned)
    return any(not a["success"] or a["data"].get("errors") for a in answers.values())


def _is_news(answer: Answer) -> bool:
    """Whether more became of a folder than that all of it is known."""
    data = answer["data"] or {}
    news = ("new_documents", "moved_documents", "errors")
    return not answer["success"] or any(data.get(key) for key in news)


async def _take_in(client: Client, path: Path, recursive: bool) -> Answer:
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:
        bar = bars.add_task(escape(str(path)), total=None)

        async def show(done: float, total: float | None, message: str | None) -> None:
            bars.update(bar, completed=done, total=total, description=escape(message or str(path)))

        if await anyio.Path(path).is_dir():
            arguments: Answer = {"dir_path": str(path), "recursive": recursive}
            return await call(client, "index_directory", arguments, show)
        return await call(client, "index_file", {"file_path": str(path)}, show)


async def _prune(client: Client, paths: list[Path]) -> list[str]:
    """Take files out of the index that are no longer in these folders."""
    vanished: list[str] = []
    start: int | None = 0
    while start is not None:
        answer = await call(client, "get_index_stats", {"from_file": start})
        if not answer["success"]:
            fail(answer["error"])
            return []
        vanished += answer["data"]["vanished_files"]
        start = answer["data"]["next_file"]
    pruned = [file for file in vanished if any(Path(file).is_relative_to(path) for path in paths)]
    for file in pruned:
        await call(client, "delete_file", {"source_file": file})
    return pruned


def _print_report(answers: dict[Path, Answer], pruned: list[str]) -> None:
    for path, answer in answers.items():
        if not answer["success"]:
            fail(f"{answer['error']}. {answer['details'].get('reason', '')}")
            continue
        data = answer["data"]
        if path.is_dir():
            typer.echo(
                f"{path}: {data['new_documents']} indexed ({data['updated_documents']} of them "
                f"again), {data['duplicates_skipped']} already known, "
                f"{len(data['errors']) + data['errors_omitted']} not indexed; "
                f"{data['total_chunks']} chunks"
            )
        else:
            typer.echo(f"{path}: {data['chunks_created']} chunks")
        warn(path, data)
        _print_errors(data.get("errors", []))
    for file in pruned:
        typer.echo(f"removed, because it is gone: {file}")


def _print_errors(errors: list[Answer]) -> None:
    if errors:
        table = Table(Column("file", overflow="fold"), "error", Column("reason", overflow="fold"))
        for error in errors:
            table.add_row(*map(escape, (error["file_path"], error["error"], error["reason"])))
        Console().print(table)
