"""`quinion`: the commands, each in a module of its own.

Modules are imported when their command runs, so that `--help` and the start of a server do
not pay for what they do not use.
"""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from quinion import __version__
from quinion.cli.options import Json
from quinion.cli.report import run_reporting
from quinion.settings import Settings

DOCUMENTS, SERVERS, UPKEEP = "Documents", "Servers and clients", "Upkeep"
"""How the commands are grouped where they are listed."""

GROUPS = {
    "policy": (DOCUMENTS, "Policies, their revisions and texts, and which was in force when."),
    "library": (DOCUMENTS, "A library of technical PDFs, their figures, tables and equations."),
    "model": (UPKEEP, "The embedding model: is it there, and fetch it."),
    "import": (UPKEEP, "Take over what other programs wrote."),
}
"""Commands that have commands of their own, each in `quinion.cli` under its name."""
MODULES = {"import": "importing"}
"""Where the module has another name: `import` is a word of Python's."""


class _Commands(TyperGroup):
    """The commands; one that is a group is imported when it is used, not when it is listed."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[0] in GROUPS:
            return args[0], load_group(args[0]), args[1:]
        return super().resolve_command(ctx, args)


def load_group(name: str) -> Any:
    """The commands of a group, as typer runs them."""
    return typer.main.get_command(import_module(f"quinion.cli.{MODULES.get(name, name)}").app)


HELP = """Find, read and cite what is inside real documents.

Example: quinion connect claude-desktop

Example: quinion index ~/notes, then quinion search "what did we decide about the roof?"

Example: quinion doctor
"""

app = typer.Typer(
    cls=_Commands,
    help=HELP,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """`quinion`."""
    run_reporting(app)


def _name_servers() -> list[str]:
    from quinion.servers.registry import CATALOG

    return list(CATALOG)


def _name_clients() -> list[str]:
    from quinion.cli.clients import CLIENTS

    return list(CLIENTS)


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


@app.command(rich_help_panel=SERVERS)
def serve(
    servers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SERVER]...", help="Which; default: all.", autocompletion=_name_servers
        ),
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


@app.command(rich_help_panel=SERVERS)
def stdio(
    server: Annotated[
        str,
        typer.Argument(help="Which server, e.g. document-store.", autocompletion=_name_servers),
    ],
) -> None:
    """Serve one client over stdin and stdout: what desktop clients start.

    Example: quinion stdio document-store
    """
    from quinion.cli.stdio import run

    run(Settings.from_environment(), server)


@app.command(rich_help_panel=DOCUMENTS)
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
    """Ingest PDFs and pictures of a planning application into the Document Store.

    Example: quinion ingest ./25_01178_REM --application-ref 25/01178/REM
    """
    from quinion.cli.ingest import run

    raise typer.Exit(
        run(Settings.from_environment(), paths, application_ref, document_type, as_json=json)
    )


@app.command(rich_help_panel=DOCUMENTS)
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


@app.command(rich_help_panel=DOCUMENTS)
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


for _name, (_panel, _help) in GROUPS.items():
    # To be listed; what is run, `_Commands` finds.
    app.command(_name, help=_help, rich_help_panel=_panel)(lambda: None)


@app.command(rich_help_panel=SERVERS)
def connect(
    client: Annotated[
        str | None,
        typer.Argument(
            help="claude-desktop, claude-code, cursor, vscode or n8n. Without it: which there are.",
            autocompletion=_name_clients,
        ),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            "--server",
            "-s",
            help="Which server; may be repeated. Default: all.",
            autocompletion=_name_servers,
        ),
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="The addresses of a running quinion serve instead.")
    ] = False,
    print_only: Annotated[
        bool, typer.Option("--print", help="Print the configuration, and write nothing.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take quinion's entries out again.")
    ] = False,
    project: Annotated[
        Path | None, typer.Option(help="Folder of a project, for a configuration of its own.")
    ] = None,
    json: Json = False,
) -> None:
    """Put quinion's servers into the configuration of an MCP client.

    All else in it stays, and a copy of what was there is kept beside it. Without a client: which
    there are on this machine, and where their files are.

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


@app.command(rich_help_panel=UPKEEP)
def verify(
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what can be repaired and report it.")
    ] = False,
    json: Json = False,
) -> None:
    """Check that registry, texts, originals and vectors are intact and agree.

    The exit status is 1 when there is a problem. What the Chroma mirror lacks is a warning.

    Example: quinion verify

    Example: quinion verify --repair
    """
    from quinion.cli.verify import run

    raise typer.Exit(run(Settings.from_environment(), repair=repair, as_json=json))


@app.command(rich_help_panel=UPKEEP)
def rebuild(json: Json = False) -> None:
    """Rebuild a damaged store from what is intact in it and in Chroma, and the Chroma mirror.

    Nothing is embedded again, and what was there is moved aside, not deleted. An engine in the
    background is stopped first; `quinion serve` has to be stopped by hand.

    Example: quinion rebuild
    """
    from quinion.cli.rebuild import run

    raise typer.Exit(run(Settings.from_environment(), as_json=json))


@app.command(rich_help_panel=UPKEEP)
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The archive to write.")],
    json: Json = False,
) -> None:
    """Copy all that the home keeps into one file, also while servers are running.

    Example: quinion backup ~/quinion.tar
    """
    from quinion.cli.backup import run_backup

    raise typer.Exit(run_backup(Settings.from_environment(), file, as_json=json))


@app.command(rich_help_panel=UPKEEP)
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What quinion backup wrote.")],
    json: Json = False,
) -> None:
    """Make a home of a backup, where nothing is kept yet.

    Example: quinion restore ~/quinion.tar
    """
    from quinion.cli.backup import run_restore

    raise typer.Exit(run_restore(Settings.from_environment(), file, as_json=json))


@app.command(rich_help_panel=SERVERS)
def stop(json: Json = False) -> None:
    """End the engine that runs in the background; it also ends by itself when it is not used.

    Nothing is lost: a client that still uses it starts another with its next call.

    Example: quinion stop
    """
    from quinion.cli.stop import run

    raise typer.Exit(run(Settings.from_environment(), as_json=json))


@app.command(rich_help_panel=UPKEEP)
def doctor(json: Json = False) -> None:
    """Check all from the installation to a real answer: each server, the home, your clients.

    Each line says what was found, and what to do where something is amiss; the exit status is 1
    then.

    Example: quinion doctor
    """
    from quinion.cli.doctor import run

    raise typer.Exit(run(Settings.from_environment(), as_json=json))
