"""`quinion index`: index folders for DocVec, once or continuously with `--watch`."""

import json
import os
from pathlib import Path

import anyio
import typer
from mcp import Client
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from quinion.cli.documents.file_selection import describe_skipped
from quinion.cli.progress import Bars
from quinion.cli.report import fail, name_count, warn
from quinion.cli.server_client import Answer, call, connect
from quinion.errors import FileMissing, InvalidInput
from quinion.extract.formats import INDEXED
from quinion.ingest.folders.changes import watch_folders
from quinion.servers import docvec
from quinion.settings import Settings


def run(
    settings: Settings,
    paths: list[Path],
    *,
    recursive: bool,
    prune: bool,
    watch: bool,
    as_json: bool,
) -> int:
    """Index the paths and print a report; return 1 if any file failed."""
    for path in paths:
        if not path.exists():
            raise FileMissing(f"There is no file or folder {path}.")
    if watch and not all(path.is_dir() for path in paths):
        raise InvalidInput("--watch accepts folders only.")
    # The form the index stores: absolute, without `..`.
    named = [Path(os.path.normpath(path.absolute())) for path in paths]
    return anyio.run(_index, settings, named, recursive, prune, watch, as_json)


async def _index(
    settings: Settings, paths: list[Path], recursive: bool, prune: bool, watch: bool, as_json: bool
) -> int:
    async with connect(settings, docvec.NAME) as client:
        if not watch:
            return int(await _update_index(client, paths, recursive, prune, as_json))
        await _watch(client, paths, recursive, as_json)
    return 0


async def _watch(client: Client, paths: list[Path], recursive: bool, as_json: bool) -> None:
    """Keep the index up to date until interrupted."""
    is_first = True

    async def update(touched: list[Path]) -> None:
        nonlocal is_first
        await _update_index(client, touched, recursive, True, as_json, only_changes=not is_first)
        if is_first and not as_json:
            typer.echo("Watching. Press Ctrl-C to stop; the index is kept.")
        is_first = False

    await watch_folders(paths, update, recursive=recursive)


async def _update_index(
    client: Client,
    paths: list[Path],
    recursive: bool,
    prune: bool,
    as_json: bool,
    *,
    only_changes: bool = False,
) -> bool:
    """Index the paths and print a report; return true if anything failed."""
    answers = {path: await _index_path(client, path, recursive) for path in paths}
    pruned = await _prune(client, paths) if prune else []
    if only_changes and not pruned and not any(map(_has_changes, answers.values())):
        return False
    if as_json:
        report = {"paths": {str(path): answer for path, answer in answers.items()}}
        typer.echo(json.dumps({**report, "pruned": pruned}, indent=2, ensure_ascii=False))
    else:
        _print_report(answers, pruned)
        skipped = "" if only_changes else describe_skipped(paths, INDEXED, recursive=recursive)
        if skipped:
            typer.echo(skipped)
    return any(not a["success"] or a["data"].get("errors") for a in answers.values())


def _has_changes(answer: Answer) -> bool:
    """Whether anything was indexed or failed, rather than all being unchanged."""
    data = answer["data"] or {}
    keys = ("new_documents", "moved_documents", "errors")
    return not answer["success"] or any(data.get(key) for key in keys)


async def _index_path(client: Client, path: Path, recursive: bool) -> Answer:
    with Bars() as bars, bars.follow(str(path)) as show:
        if await anyio.Path(path).is_dir():
            arguments: Answer = {"dir_path": str(path), "recursive": recursive}
            return await call(client, "index_directory", arguments, show)
        return await call(client, "index_file", {"file_path": str(path)}, show)


async def _prune(client: Client, paths: list[Path]) -> list[str]:
    """Remove deleted files of these folders from the index."""
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
            fail(f"{path}: {answer['details'].get('reason') or answer['error']}")
            continue
        data = answer["data"]
        if path.is_dir():
            typer.echo(
                f"{path}: {data['new_documents']} indexed ({data['updated_documents']} of them "
                f"again), {data['duplicates_skipped']} already indexed, "
                f"{len(data['errors']) + data['errors_omitted']} not indexed, "
                f"{len(data.get('skipped_files', []))} without text; "
                f"{name_count(data['total_chunks'], 'chunk')}"
            )
        else:
            typer.echo(f"{path}: {name_count(data['chunks_created'], 'chunk')}")
        warn(path, data)
        _print_errors(data.get("errors", []))
    for file in pruned:
        typer.echo(f"removed from the index, file deleted: {file}")


def _print_errors(errors: list[Answer]) -> None:
    if errors:
        table = Table(Column("file", overflow="fold"), "error", Column("reason", overflow="fold"))
        for error in errors:
            table.add_row(*map(escape, (error["file_path"], error["error"], error["reason"])))
        Console().print(table)
