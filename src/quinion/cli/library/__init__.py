"""`quinion library …`: the documents of doclibrary, their figures, tables and equations.

All of it goes through the server's tools (`asking`), which are imported when they are needed:
whoever asks for `--help`, or has the shell complete a command, does not wait for them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quinion.cli.files import find_documents
from quinion.cli.options import Json, Yes, ask, print_json, tell
from quinion.cli.report import fail, warn
from quinion.errors import InvalidInput, QuinionError

if TYPE_CHECKING:
    from quinion.cli.client import Answer

app = typer.Typer(
    help="A library of technical PDFs and their figures.",
    no_args_is_help=True,
    add_completion=False,
)

Slug = Annotated[str, typer.Argument(help="The document, as `quinion library list` names it.")]


@app.command()
def add(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="PDFs or folders.")],
    json: Json = False,
) -> None:
    """Add PDFs: their text, figures, tables and equations.

    Example: quinion library add manual.pdf ./reports
    """
    from quinion.cli.library import asking
    from quinion.servers.doclibrary.adding import EXTENSIONS

    files = find_documents(paths, EXTENSIONS)
    if not files:
        raise InvalidInput(f"There is no PDF in {', '.join(map(str, paths))}.")
    answers = asking.add_files(files)
    if json:
        print_json([{"file": str(file), **answer} for file, answer in answers.items()])
    else:
        for file, answer in answers.items():
            _tell_added(file, answer)
    raise typer.Exit(int(any("error" in answer for answer in answers.values())))


@app.command("list")
def list_(json: Json = False) -> None:
    """List the documents of the library.

    Example: quinion library list
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    from quinion.cli.library import asking

    documents = asking.list_documents()
    if json:
        print_json(documents)
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
    from quinion.cli.library import asking

    if out is not None and label is None and page is None:
        raise InvalidInput("--out needs a label or --page: what is the picture of?")
    if label is None:
        answer = asking.ask_tool("get_document_info", {"document_slug": slug})
    else:
        arguments = {"document_slug": slug, "element_label": label, "page_number": page}
        answer = asking.ask_tool("get_element_details", arguments)
    if json:
        print_json(answer)
    else:
        for name, value in answer.items():
            if value not in ("", None):
                typer.echo(f"{name}: {value}")
    if out is not None:
        picture = asking.fetch_picture(slug, label, page)
        with _writing(out):
            out.write_bytes(picture)
        typer.echo(f"Written: {out}", err=True)


@app.command()
def elements(slug: Slug, json: Json = False) -> None:
    """List the figures, tables and equations of a document.

    Example: quinion library elements usgs_snyder
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    from quinion.cli.library import asking

    found = asking.list_elements(slug)
    if json:
        print_json(found)
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
    from quinion.cli.library import asking

    answer = asking.enrich_document(slug, limit)
    if json:
        print_json(answer)
    else:
        _tell_enriched(answer)


@app.command()
def export(
    slug: Slug,
    folder: Annotated[Path, typer.Argument(help="Folder to write; it must not exist yet.")],
    json: Json = False,
) -> None:
    """Write all elements of a document into a folder: pictures, captions, tables, and a page
    (index.html) that shows them.

    Example: quinion library export usgs_snyder ./snyder
    """
    from quinion.cli.library import asking

    if folder.exists():
        raise InvalidInput(f"{folder} exists. Name a folder that does not.")
    with _writing(folder):
        count = asking.export_document(slug, folder)
    page = folder / "index.html"
    tell(json, {"elements": count, "page": page}, f"{count} elements: {page}")


@app.command()
def remove(
    slug: Slug,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Take a document out of the library, and its original and pictures with it.

    Example: quinion library remove usgs_snyder
    """
    from quinion.cli.library import asking

    ask(f"Remove {slug} and all that is kept of it?", yes)
    answer = asking.ask_tool("remove_document", {"document_slug": slug})
    tell(json, answer, f"{slug} is removed.")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise QuinionError(f"{path} cannot be written ({error.strerror or error}).") from error


def _tell_added(file: Path, answer: "Answer") -> None:
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
    warn(file.name, answer)


def _tell_enriched(answer: "Answer") -> None:
    asked, remembered = answer["asked"], answer["remembered"]
    for one in answer["not_described"]:
        fail(f"{one['element_label']} on page {one['page_number']}: {one['reason']}")
    known = f", {remembered} of them known from before" if remembered else ""
    left = f"; {answer['remaining']} are left" if answer["remaining"] else ""
    typer.echo(f"{answer['document_slug']}: {asked + remembered} elements described{known}{left}.")
