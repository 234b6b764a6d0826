"""The console scripts of single servers: stdio by default, `--http` for HTTP."""

from collections.abc import Callable
from typing import Annotated

import typer

from quinion.cli.main import configure_logging, report
from quinion.settings import Settings


def document_store() -> None:
    """`document-store-mcp`."""
    _run("document-store")


def _run(name: str) -> None:
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command(help=f"The {name} MCP server, on stdio unless --http is given.")(_command(name))
    configure_logging()
    report(app)


def _command(name: str) -> Callable[..., None]:
    def command(
        http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead.")] = False,
        host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
        port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    ) -> None:
        settings = Settings.from_environment()
        if http:
            from quinion.cli import serve

            serve.run(settings, [name], host, port, None)
        else:
            from quinion.cli import stdio

            stdio.run(settings, name)

    return command
