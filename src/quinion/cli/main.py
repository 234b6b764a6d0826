"""The `quinion` command line: options and help texts of every command.

Each command lives in a separate module, imported when the command runs. `--help` and starting a
server therefore load only what they use.
"""

from pathlib import Path
from typing import Annotated

import typer

from quinion import __version__
from quinion.cli.groups import DOCUMENTS, GROUPS, MAINTENANCE, SERVERS, Commands
from quinion.cli.help_types import use_familiar_types
from quinion.cli.maintenance import commands
from quinion.cli.options import Json, name_clients, name_servers, override
from quinion.cli.report import run_reporting
from quinion.cli.serving import commands as serving
from quinion.model.record import Mode
from quinion.settings import Settings

use_familiar_types()

HELP = """Search documents on this machine and cite their pages.

Example: quinion connect claude-desktop

Example: quinion index ~/notes, then quinion search "what did we decide about the roof?"

Example: quinion doctor
"""

app = typer.Typer(
    cls=Commands,
    help=HELP,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the `quinion` command line."""
    run_reporting(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"quinion {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


@app.command(rich_help_panel=SERVERS)
def serve(
    servers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SERVER]...",
            help="Servers to start, and `console`. Default: all.",
            autocompletion=name_servers,
        ),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; needs exactly one SERVER.")] = None,
    console: Annotated[
        bool, typer.Option(help="Serve the console; default if no SERVER is named.")
    ] = True,
    background: Annotated[
        bool, typer.Option("--background", hidden=True, help="For `quinion open`.")
    ] = False,
    samples: Annotated[
        Path | None, typer.Option(help="Sample folder to ingest if the home is empty.")
    ] = None,
    log_level: Annotated[
        str | None, typer.Option(help="debug, info, warning or error (QUINION_LOG_LEVEL).")
    ] = None,
    log_format: Annotated[
        str | None, typer.Option(help="text or json (QUINION_LOG_FORMAT).")
    ] = None,
) -> None:
    """Serve over HTTP in one process until stopped.

    Example: quinion serve document-store --port 3002
    """
    settings = Settings.from_environment(
        override(QUINION_LOG_LEVEL=log_level, QUINION_LOG_FORMAT=log_format)
    )
    if servers == ["ocr-api"]:  # not an MCP server; uses no home
        from quinion.cli.serving import ocr_api

        ocr_api.run(settings, host, port)
        return
    from quinion.cli.serving.serve import run

    run(settings, servers or [], host, port, samples, console=console, background=background)


@app.command("open", rich_help_panel=SERVERS)
def open_(json: Json = False) -> None:
    """Open the console in the browser; start an engine in the background if there is none.

    The address has a key that works once. With MCP_API_KEY set, the console asks for the token.

    Example: quinion open
    """
    from quinion.cli.serving.open import run

    raise typer.Exit(run(Settings.from_environment(), as_json=json))


@app.command(rich_help_panel=SERVERS)
def stdio(
    server: Annotated[
        str,
        typer.Argument(help="Server to run, e.g. document-store.", autocompletion=name_servers),
    ],
) -> None:
    """Serve one client over stdin and stdout. Desktop clients run this command.

    Example: quinion stdio document-store
    """
    from quinion.cli.serving.stdio import run

    run(Settings.from_environment(), server)


@app.command(rich_help_panel=DOCUMENTS)
def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files or folders.")],
    application_ref: Annotated[
        str, typer.Option("--application-ref", "-a", help="Planning application reference.")
    ],
    document_type: Annotated[
        str | None, typer.Option("--document-type", "-t", help="Document type for all files.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the earlier versions of changed files.")
    ] = False,
    json: Json = False,
) -> None:
    """Ingest PDFs and images of a planning application into the Document Store.

    Example: quinion ingest ./25_01178_REM --application-ref 25/01178/REM
    """
    from quinion.cli.documents.ingest import run

    raise typer.Exit(
        run(
            Settings.from_environment(),
            paths,
            application_ref,
            document_type,
            replace=replace,
            as_json=json,
        )
    )


@app.command(rich_help_panel=DOCUMENTS)
def index(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Folders or files.")],
    recursive: Annotated[bool, typer.Option(help="Include subfolders.")] = True,
    prune: Annotated[bool, typer.Option("--prune", help="Remove deleted files.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Keep the index up to date until stopped.")
    ] = False,
    json: Json = False,
) -> None:
    """Index folders of Markdown, PDF, text, Python, office and web files for DocVec.

    Example: quinion index ~/notes ~/src --watch
    """
    from quinion.cli.documents.index import run

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


@app.command(rich_help_panel=DOCUMENTS)
def search(
    query: Annotated[str, typer.Argument(help="Question or phrase to search for.")],
    application_ref: Annotated[
        str | None, typer.Option("--application-ref", "-a", help="Search only this application.")
    ] = None,
    document_type: Annotated[
        list[str] | None,
        typer.Option("--document-type", "-t", help="Search only this type; repeatable."),
    ] = None,
    condition: Annotated[
        list[str] | None,
        typer.Option("--filter", "-f", help='Filter indexed files, e.g. "page_number>=10".'),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(min=1, help="Return as many results as fit into this many tokens."),
    ] = None,
    day: Annotated[
        str | None,
        typer.Option(
            "--date",
            metavar="YYYY-MM-DD",
            help="Search only policy texts that were in force on this day.",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="Search only this policy, e.g. NPPF; repeatable."),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            "--server",
            "-s",
            help="Search only this server; repeatable.",
            autocompletion=name_servers,
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Maximum number of results.")
    ] = 10,
    mode: Annotated[Mode | None, typer.Option(help="Compare meaning, words or both.")] = None,
    merge: Annotated[
        bool,
        typer.Option(help="Join overlapping results and show each text once."),
    ] = True,
    json: Json = False,
) -> None:
    """Search documents, policies, indexed folders and the library by meaning and words.

    A passage that several servers have is shown once.

    Example: quinion search "cycle parking provision" --application-ref 25/01178/REM

    Example: quinion search "affordable housing" --date 2024-03-15 --policy NPPF

    Example: quinion search "retry with backoff" --filter file_format=code --filter source_file~http
    """
    from quinion.cli.documents.search import run

    raise typer.Exit(
        run(
            Settings.from_environment(),
            query,
            application_ref=application_ref,
            document_types=document_type,
            filters=condition,
            budget=budget,
            day=day,
            policies=policy,
            servers=server,
            limit=limit,
            mode=mode,
            merge=merge,
            as_json=json,
        )
    )


@app.command(rich_help_panel=DOCUMENTS)
def show(
    what: Annotated[
        str, typer.Argument(metavar="HIT|CHUNK_ID", help="Number of a result of the last search.")
    ],
    page: Annotated[int | None, typer.Option(min=1, help="Another page of the document.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the image to this file.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the page of a search result with the passage marked.

    Terminals with images (kitty, iTerm2, sixel) show it; otherwise it is written to a file.

    Example: quinion show 1

    Example: quinion show 25_01178_REM_a1b2c3_014_042 --output evidence.png
    """
    from quinion.cli.documents.show import run

    run(Settings.from_environment(), what, page, output, as_json=json)


for _name, (_panel, _help) in GROUPS.items():
    # Only for the listing in --help; `Commands` resolves the group that runs.
    app.command(_name, help=_help, rich_help_panel=_panel)(lambda: None)


@app.command(rich_help_panel=SERVERS)
def connect(
    client: Annotated[
        str | None,
        typer.Argument(
            help="claude-desktop, claude-code, cursor, vscode or n8n. Omit to list the clients.",
            autocompletion=name_clients,
        ),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            "--server",
            "-s",
            help="Server to connect; repeatable. Default: all.",
            autocompletion=name_servers,
        ),
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Write the URLs of a running quinion serve.")
    ] = False,
    print_only: Annotated[
        bool, typer.Option("--print", help="Print the configuration without writing it.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the entries of quinion.")
    ] = False,
    project: Annotated[
        Path | None, typer.Option(help="Write the configuration of this project folder.")
    ] = None,
    json: Json = False,
) -> None:
    """Add the servers of quinion to the configuration of an MCP client.

    Other entries are kept, and the previous file is backed up beside the new one. Without a
    CLIENT, list the clients on this machine and their configuration files.

    Example: quinion connect claude-desktop

    Example: quinion connect cursor --http --server document-store
    """
    from quinion.cli.connect import run

    raise typer.Exit(
        run(
            Settings.from_environment(),
            client,
            servers=server or [],
            http=http,
            print_only=print_only,
            remove=remove,
            project=project,
            as_json=json,
        )
    )


for _command in (
    *(commands.verify, commands.rebuild, commands.backup, commands.restore),
    commands.migrate,
):
    app.command(rich_help_panel=MAINTENANCE)(_command)


app.command(rich_help_panel=SERVERS)(serving.stop)
app.command(rich_help_panel=SERVERS)(serving.worker)


@app.command(rich_help_panel=MAINTENANCE)
def doctor(json: Json = False) -> None:
    """Check the installation, each server, the home and the configured clients.

    Each server is started and answers a real call. Each line shows the result and, for a problem,
    what to do. The exit status is 1 if a problem is found.

    Example: quinion doctor
    """
    from quinion.cli.doctor import run

    raise typer.Exit(run(Settings.from_environment(), as_json=json))
