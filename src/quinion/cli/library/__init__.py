"""`quinion library …`: manage the documents of doclibrary.

All commands call the tools of the server (`calls`). That module is imported inside the commands,
to keep `--help` and shell completion fast.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quinion.cli.documents.file_selection import describe_skipped, find_documents
from quinion.cli.options import Json, Yes, confirm, print_json, print_result
from quinion.cli.report import fail, name_count, warn
from quinion.errors import InvalidInput, QuinionError
from quinion.model.element import ElementType

if TYPE_CHECKING:
    from quinion.cli.server_client import Answer

app = typer.Typer(
    help="Manage a library of technical PDFs, their figures, tables and equations.",
    no_args_is_help=True,
    add_completion=False,
)

Slug = Annotated[str, typer.Argument(help="Slug of the document; see `quinion library list`.")]


@app.command()
def add(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="PDF, office or web files, or folders.")
    ],
    json: Json = False,
) -> None:
    """Add PDFs with their text, figures, tables and equations.

    Example: quinion library add manual.pdf ./reports
    """
    from quinion.cli.library import calls
    from quinion.ingest.library.adder import EXTENSIONS

    files = find_documents(paths, EXTENSIONS)
    if not files:
        raise InvalidInput(f"No PDF, office or web file found in {', '.join(map(str, paths))}.")
    answers = calls.add_files(files)
    if json:
        print_json([{"file": str(file), **answer} for file, answer in answers.items()])
    else:
        for file, answer in answers.items():
            _print_added(file, answer)
        if skipped := describe_skipped(paths, EXTENSIONS):
            typer.echo(skipped)
    raise typer.Exit(int(any("error" in answer for answer in answers.values())))


@app.command("list")
def list_(json: Json = False) -> None:
    """List the documents of the library.

    Example: quinion library list
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    from quinion.cli.library import calls

    documents = calls.list_documents()
    if json:
        print_json(documents)
        return
    table = Table(
        Column("slug", no_wrap=True),  # to be copied
        Column("title", overflow="fold"),
        Column("pages", justify="right"),
        Column("elements", overflow="fold"),
        "added",
    )
    for document in documents:
        counts = document["indexed_elements"]
        elements = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        row = (document["slug"], document["title"], str(document["total_pages"]), elements)
        table.add_row(*map(escape, (*row, document["date_added"][:10])))
    Console().print(table if documents else "The library is empty. See quinion library add --help.")


@app.command()
def show(
    slug: Slug,
    label: Annotated[str | None, typer.Argument(help='Label, e.g. "Figure 8-1".')] = None,
    page: Annotated[int | None, typer.Option(help="Page number, also of a label.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="PNG file to write.")] = None,
    json: Json = False,
) -> None:
    """Show details of a document or an element; with --out, write its image.

    Example: quinion library show usgs_snyder "Figure 8-1" --out figure.png
    """
    from quinion.cli.library import calls

    if out is not None and label is None and page is None:
        raise InvalidInput("--out needs a label or --page.")
    if label is None:
        answer = calls.ask_tool("get_document_info", {"document_slug": slug})
    else:
        arguments = {"document_slug": slug, "element_label": label, "page_number": page}
        answer = calls.ask_tool("get_element_details", arguments)
    if json:
        print_json(answer)
    else:
        _print_details(answer)
    if out is not None:
        picture = calls.fetch_picture(slug, label, page)
        with _write_errors(out):
            out.write_bytes(picture)
        typer.echo(f"Written: {out}", err=True)


@app.command()
def elements(
    slug: Slug,
    kind: Annotated[
        ElementType | None, typer.Option("--type", "-t", help="List only this type.")
    ] = None,
    json: Json = False,
) -> None:
    """List the figures, tables and equations of a document.

    Example: quinion library elements usgs_snyder --type figure
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    from quinion.cli.library import calls

    found = [one for one in calls.list_elements(slug) if kind in (None, one["element_type"])]
    if json:
        print_json(found)
        return
    table = Table("label", "type", "page", Column("caption", overflow="fold"))
    for one in found:
        row = (one["element_label"], one["element_type"], str(one["page_number"]), one["caption"])
        table.add_row(*map(escape, row))
    missing = f"elements of type {kind}" if kind else "figures, tables or equations"
    Console().print(table if found else f"The document has no {missing}.")


@app.command()
def enrich(
    slug: Slug,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="Maximum number of elements.")
    ] = None,
    json: Json = False,
) -> None:
    """Describe figures and tables, and write equations as LaTeX, with a vision model.

    Images and captions are sent to DOCLIBRARY_VISION_URL. An interrupted run continues where it
    stopped.

    Example: quinion library enrich usgs_snyder
    """
    from quinion.cli.library import calls

    answer = calls.enrich_document(slug, limit)
    if json:
        print_json(answer)
    else:
        _print_enriched(answer)


@app.command()
def export(
    slug: Slug,
    folder: Annotated[Path, typer.Argument(help="Folder to create.")],
    json: Json = False,
) -> None:
    """Export all elements of a document into a folder: images, captions, tables and index.html.

    Example: quinion library export usgs_snyder ./snyder
    """
    from quinion.cli.library import calls

    if folder.exists():
        raise InvalidInput(f"{folder} already exists. Choose a new folder.")
    with _write_errors(folder):
        count = calls.export_document(slug, folder)
    page = folder / "index.html"
    print_result(json, {"elements": count, "page": page}, f"{name_count(count, 'element')}: {page}")


@app.command()
def remove(
    slug: Slug,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Remove a document, its original and its images from the library.

    Example: quinion library remove usgs_snyder
    """
    from quinion.cli.library import calls

    confirm(f"Remove {slug}, its original and its images?", yes)
    answer = calls.ask_tool("remove_document", {"document_slug": slug})
    print_result(json, answer, f"Removed {slug}.")


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise QuinionError(f"{path} cannot be written ({error.strerror or error}).") from error


def _print_details(answer: "Answer") -> None:
    """Print a table with one row per field; a list or mapping is written out."""
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(Column(style="bold"), Column(overflow="fold"), show_header=False)
    for name, value in answer.items():
        if shown := _format_value(value):
            table.add_row(Text(name.replace("_", " ")), Text(shown))
    Console().print(table)


def _format_value(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(_name_counts(value))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _name_counts(counts: dict[str, int]) -> list[str]:
    """Name the elements of a document that there are, by kind."""
    return [name_count(count, kind.removesuffix("s")) for kind, count in counts.items() if count]


def _print_added(file: Path, answer: "Answer") -> None:
    if "error" in answer:
        fail(f"{file.name}: {answer['error'].removeprefix('Error: ')}")
        return
    document = answer["document"]
    counts = _name_counts(document["indexed_elements"])
    known = " (already in the library)" if answer["status"] == "already_in_library" else ""
    typer.echo(
        f"{file.name}: {document['slug']}, {name_count(document['total_pages'], 'page')}, "
        f"{', '.join(counts) or 'no elements'}{known}"
    )
    warn(file.name, answer)


def _print_enriched(answer: "Answer") -> None:
    asked, remembered = answer["asked"], answer["remembered"]
    for one in answer["not_described"]:
        fail(f"{one['element_label']}, page {one['page_number']}: {one['reason']}")
    known = f", {remembered} of them cached" if remembered else ""
    left = f"; {answer['remaining']} remaining" if answer["remaining"] else ""
    described = f"{name_count(asked + remembered, 'element')} described"
    typer.echo(f"{answer['document_slug']}: {described}{known}{left}.")
