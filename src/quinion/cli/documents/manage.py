"""`quinion document …`: list, show, delete and reingest documents of the Document Store.

Modules that are not needed for `--help` are imported inside the commands.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quinion.cli.options import Json, Yes, confirm, print_json, print_result
from quinion.cli.report import name_count, warn
from quinion.errors import QuinionError
from quinion.settings import Settings

if TYPE_CHECKING:
    from quinion.cli.server_client import Answer

app = typer.Typer(
    help="Manage the ingested documents of planning applications.",
    no_args_is_help=True,
    add_completion=False,
)

DocumentId = Annotated[
    str, typer.Argument(metavar="ID", help="Document ID; see `quinion document list`.")
]


@app.command("list")
def list_(
    application_ref: Annotated[
        str | None, typer.Option("--application-ref", "-a", help="List only this application.")
    ] = None,
    json: Json = False,
) -> None:
    """List the ingested documents.

    Example: quinion document list --application-ref 25/01178/REM
    """
    documents = _list(application_ref)
    if json:
        print_json(documents)
    elif documents:
        print_table(documents)
    else:
        typer.echo(_say_none(application_ref))


@app.command()
def show(document_id: DocumentId, json: Json = False) -> None:
    """Show what is stored of a document, and other versions of its file.

    Example: quinion document show 25_01178_REM_a1b2c3
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    answer = _ask("show_document", {"document_id": document_id})
    if json:
        print_json(answer)
        return
    table = Table(show_header=False)
    for name, value in answer.items():
        if name != "versions":
            table.add_row(name, escape(str(value)))
    if not Path(answer["file_path"]).exists():
        table.add_row("file", "not there any more; the document can still be searched and read")
    if answer["versions"]:
        table.add_row("other versions", escape(", ".join(answer["versions"])))
    Console().print(table)


@app.command()
def delete(document_id: DocumentId, yes: Yes = False, json: Json = False) -> None:
    """Delete a document and its chunks. Its file stays.

    Example: quinion document delete 25_01178_REM_a1b2c3
    """
    document = _ask("show_document", {"document_id": document_id})
    name = Path(document["file_path"]).name
    confirm(f"Delete {name} of {document['application_ref']} ({document_id})?", yes)
    answer = _ask("remove_document", {"document_id": document_id})
    line = f"Deleted {name} with {name_count(answer['chunks_removed'], 'chunk')}. Its file stays."
    print_result(json, answer, line)


@app.command()
def reingest(
    document_id: DocumentId,
    document_type: Annotated[
        str | None,
        typer.Option("--document-type", "-t", help="New type. Default: found again, or kept."),
    ] = None,
    json: Json = False,
) -> None:
    """Read the file of a document again and replace what is stored, in one step.

    Example: quinion document reingest 25_01178_REM_a1b2c3
    """
    document = _ask("show_document", {"document_id": document_id})
    arguments: Answer = {"document_id": document_id}
    if document_type is not None:
        arguments["document_type"] = document_type
    name = Path(document["file_path"]).name
    answer = _ask("reingest_document", arguments, name)
    if answer["status"] != "success":
        raise QuinionError(f"{name} is {answer['status']}: nothing was changed.")
    line = f"{answer['document_id']}: {name_count(answer['chunks_created'], 'chunk')}"
    print_result(json, answer, f"{line} ({answer['extraction_method']}).")
    if not json:
        warn(name, answer)


def _say_none(application_ref: str | None) -> str:
    """Say that there is no document, and which applications have some."""
    if application_ref is None or not _list(None):
        of = f" of {application_ref}" if application_ref else ""
        return f"There is no document{of}. To add some, see: quinion ingest --help"
    answer = _ask("list_ingested_documents", {"application_ref": application_ref})
    return str(answer["hint"])


def _list(application_ref: str | None) -> "list[Answer]":
    documents: list[Answer] = []
    arguments: Answer = {} if application_ref is None else {"application_ref": application_ref}
    start: int | None = 0
    while start is not None:
        answer = _ask("list_stored_documents", {**arguments, "from_document": start})
        documents += answer["documents"]
        start = answer["next_document"]
    return documents


def print_table(documents: "list[Answer]") -> None:
    """Print a table of documents, with whole ids, types and days, also in 80 columns."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    table = Table(
        Column("id, application", no_wrap=True),  # the id is to be copied
        Column("title, type", overflow="fold"),
        Column("chunks", justify="right"),
        Column("ingested", no_wrap=True),
    )
    for one in documents:
        row = (
            f"{one['document_id']}\n{one['application_ref']}",
            f"{one['title']}\n{one['document_type']}",
            str(one["chunk_count"]),
        )
        table.add_row(*map(escape, (*row, one["ingested_at"][:10])))
    Console().print(table)


def _ask(tool: str, arguments: "Answer", title: str = "") -> "Answer":
    """Call a tool of the Document Store; a title adds a progress bar.

    Raises:
        QuinionError: the tool returned an error.
    """
    from quinion.cli.server_client import run_tool
    from quinion.servers.document_store import NAME

    try:
        return run_tool(Settings.from_environment(), NAME, tool, arguments, title)
    except QuinionError as error:
        if str(error).startswith("Document not found"):
            raise QuinionError(f"{error}. To see all ids: quinion document list") from error
        raise
