"""`quinion ingest`: ingest files into the Document Store, with progress bars and a report."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import typer
from mcp import Client
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from quinion.cli.at_once import choose_at_once
from quinion.cli.documents.file_selection import describe_skipped, find_documents
from quinion.cli.progress import Bars
from quinion.cli.report import warn
from quinion.cli.server_client import Answer, call, connect
from quinion.errors import InvalidInput
from quinion.ingest.applications.ingestion import EXTENSIONS
from quinion.servers import document_store
from quinion.settings import Settings

AT_ONCE = 3
"""Documents that one engine ingests concurrently: one being embedded, one being read by the
workers, and a third being written or too short to keep the workers busy."""


def run(
    settings: Settings,
    paths: list[Path],
    application_ref: str,
    document_type: str | None,
    *,
    replace: bool,
    as_json: bool,
) -> int:
    """Ingest the files and print a report; return 1 if any file failed."""
    files = find_documents(paths, EXTENSIONS)
    skipped = describe_skipped(paths, EXTENSIONS)
    if not files:
        raise InvalidInput(
            f"No supported document in {', '.join(map(str, paths))}. "
            f"Supported extensions: {', '.join(sorted(EXTENSIONS))}."
            f"{' ' * bool(skipped)}{skipped}"
        )
    arguments: Answer = {"application_ref": application_ref, "replace": replace}
    if document_type is not None:
        arguments["document_type"] = document_type
    answers = anyio.run(_ingest, settings, files, arguments)
    if as_json:
        typer.echo(json.dumps([{"file": str(f), **answers[f]} for f in files], indent=2))
    else:
        print_report([(file.name, answers[file]) for file in files])
        _print_versions([(file.name, answers[file]) for file in files], replace)
        if document_type is not None:
            _print_kept_types([(file.name, answers[file]) for file in files])
        if skipped:
            typer.echo(skipped)
    return int(any(answer["status"] == "error" for answer in answers.values()))


async def _ingest(settings: Settings, files: list[Path], arguments: Answer) -> dict[Path, Answer]:
    answers: dict[Path, Answer] = {}
    pending = iter(files)
    at_once = await choose_at_once(settings, AT_ONCE)
    with Bars() as bars, bars.follow(f"{len(files)} documents", len(files)) as show_overall:

        async def ingest_next(client: Client) -> None:
            for file in pending:
                with bars.follow(file.name, keep=False) as show:
                    asked = {"file_path": str(file), **arguments}
                    answers[file] = await call(client, "ingest_document", asked, show)
                await show_overall(len(answers), len(files), None)

        async with (
            connect(settings, document_store.NAME) as client,
            anyio.create_task_group() as group,
        ):
            for _ in range(at_once):
                group.start_soon(ingest_next, client)
    return answers


def print_report(rows: list[tuple[str, Answer]]) -> None:
    """Print a table of files and answers, with whole ids also in 80 columns, and the counts."""
    table = Table(
        Column("document", overflow="fold"),
        Column("status", no_wrap=True),
        Column("chunks", overflow="fold"),
        Column("id or reason", overflow="fold", min_width=_longest_id(rows)),  # to be copied
    )
    for name, answer in rows:
        table.add_row(*map(escape, (name, *_cells(answer))))
    Console().print(table)
    for name, answer in rows:
        warn(name, answer)
    counts = Counter(answer["status"] for _, answer in rows)
    typer.echo(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))


def describe_skip(answer: Answer) -> str:
    """Say in words why a document was skipped, with the contract's code."""
    return f"a drawing or picture, without text to read ({answer['reason']})"


def _longest_id(rows: list[tuple[str, Answer]]) -> int:
    return max((len(answer.get("document_id") or "") for _, answer in rows), default=0)


def _print_versions(rows: list[tuple[str, Answer]], replace: bool) -> None:
    """Name the earlier versions of changed files."""
    for name, answer in rows:
        if earlier := answer.get("replaces"):
            ending = "replaced." if replace else "kept; --replace replaces it."
            typer.echo(f"{name}: the earlier version {earlier} is {ending}")


def _print_kept_types(rows: list[tuple[str, Answer]]) -> None:
    """Say how to change the type of documents that were ingested before."""
    for name, answer in rows:
        if answer["status"] == "already_ingested":
            command = f"quinion document reingest {answer['document_id']} -t TYPE"
            typer.echo(f"{name}: its type is kept. To change it: {command}")


def _cells(answer: Answer) -> tuple[str, str, str]:
    status: str = answer["status"]
    detail: Any = answer.get("document_id") or answer.get("message")
    if status == "skipped":
        detail = f"{describe_skip(answer)} (image ratio {answer['image_ratio']})"
    chunks = ""
    if "chunks_created" in answer:
        chunks = f"{answer['chunks_created']} ({answer['extraction_method']})"
    return status, chunks, detail
