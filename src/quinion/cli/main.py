"""`quinion`: the commands, each in a module of its own.

Modules are imported when their command runs, so that `--help` and the start of a server do
not pay for what they do not use.
"""

from pathlib import Path
from typing import Annotated

import typer

from quinion import __version__
from quinion.cli.report import run_reporting
from quinion.settings import Settings

app = typer.Typer(
    help="Find, read and cite what is inside real documents.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def main() -> None:
    """`quinion`."""
    run_reporting(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"quinion {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    pass


@app.command()
def serve(
    servers: Annotated[
        list[str] | None, typer.Argument(metavar="[SERVER]...", help="Which; default: all.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port, when one server is named.")] = None,
    samples: Annotated[
        Path | None, typer.Option(help="Folder to ingest at the start, if the home is empty.")
    ] = None,
) -> None:
    """Serve over HTTP, in one process, until stopped.

    Example: quinion serve document-store --port 3002
    """
    if servers == ["ocr-api"]:  # no MCP server, and without a home
        from quinion.cli import ocr_api

        ocr_api.run(Settings.from_environment(), host, port)
        return
    from quinion.cli.serve import run

    run(Settings.from_environment(), servers or [], host, port, samples)


@app.command()
def stdio(
    server: Annotated[str, typer.Argument(help="Which server, e.g. document-store.")],
) -> None:
    """Serve one client over stdin and stdout: what desktop clients start.

    Example: quinion stdio document-store
    """
    from quinion.cli.stdio import run

    run(Settings.from_environment(), server)


@app.command()
def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files or folders.")],
    application_ref: Annotated[
        str, typer.Option("--application-ref", "-a", help="Planning application reference.")
    ],
    document_type: Annotated[
        str | None, typer.Option("--document-type", "-t", help="Type of all these documents.")
    ] = None,
    json: Json = False,
) -> None:
    """Ingest documents into the Document Store.

    Example: quinion ingest ./25_01178_REM --application-ref 25/01178/REM
    """
    from quinion.cli.ingest import run

    raise typer.Exit(
        run(Settings.from_environment(), paths, application_ref, document_type, as_json=json)
    )


@app.command()
def index(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Folders or files.")],
    recursive: Annotated[bool, typer.Option(help="Look into subfolders as well.")] = True,
    prune: Annotated[bool, typer.Option("--prune", help="Forget files that are gone.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Keep in step with the folders until stopped.")
    ] = False,
    json: Json = False,
) -> None:
    """Index folders of Markdown, PDF, text and Python files, for DocVec.

    Example: quinion index ~/notes ~/src --watch
    """
    from quinion.cli.index import run

    raise typer.Exit(
        run(
            Settings.from_environment(),
            paths,
            recursive=recursive,
            prune=prune,
            watch=watch,
            as_json=json,
        )
    )


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    application_ref: Annotated[
        str | None, typer.Option("--application-ref", "-a", help="Only this application.")
    ] = None,
    document_type: Annotated[
        list[str] | None, typer.Option("--document-type", "-t", help="Only these types.")
    ] = None,
    condition: Annotated[
        list[str] | None,
        typer.Option("--filter", "-f", help='Only indexed files where, e.g. "page_number>=10".'),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="As many results as fit into this number of tokens.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many results.")] = 10,
    json: Json = False,
) -> None:
    """Search ingested documents and indexed folders by meaning.

    Example: quinion search "cycle parking provision" --application-ref 25/01178/REM

    Example: quinion search "retry with backoff" --filter file_format=code --filter source_file~http
    """
    from quinion.cli.search import run

    raise typer.Exit(
        run(
            Settings.from_environment(),
            query,
            application_ref=application_ref,
            document_types=document_type,
            filters=condition,
            budget=budget,
            limit=limit,
            as_json=json,
        )
    )


@app.command(
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
    add_help_option=False,
)
def policy(context: typer.Context) -> None:
    """Manage policies, their revisions and texts; see quinion policy --help."""
    from quinion.cli.policy import app as policy_app

    policy_app(context.args, prog_name="quinion policy")


@app.command(
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
    add_help_option=False,
)
def library(context: typer.Context) -> None:
    """Keep a library of technical PDFs and their figures; see quinion library --help."""
    from quinion.cli.library import app as library_app

    library_app(context.args, prog_name="quinion library")


@app.command()
def doctor(json: Json = False) -> None:
    """Check what is installed, which model and engine are used, and whether the home is well."""
    from quinion.cli.doctor import run

    raise typer.Exit(run(Settings.from_environment(), as_json=json))
