"""Console scripts of single servers, on stdio by default and on HTTP with `--http`.

They use `argparse` instead of typer: desktop clients start them often, so start-up time matters.
"""

import argparse
import os
from collections.abc import Mapping
from types import MappingProxyType

from quinion import __version__
from quinion.cli.report import run_reporting
from quinion.settings import Settings

LOG_OPTIONS = {
    "--log-level": ("QUINION_LOG_LEVEL", "debug, info, warning or error"),
    "--log-format": ("QUINION_LOG_FORMAT", "text or json"),
}


def document_store() -> None:
    """Run `document-store-mcp`."""
    _run("document-store")


def policy_kb() -> None:
    """Run `policy-kb-mcp`."""
    _run("policy-kb")


def doclibrary() -> None:
    """Run `doclibrary-mcp`."""
    _run("doclibrary")


def docvec() -> None:
    """Run `docvec-mcp`; its additional options set `DOCVEC_*` variables."""
    _run(
        "docvec",
        {
            "--db-path": ("DOCVEC_DB_PATH", "folder that holds the index"),
            "--collection": ("DOCVEC_COLLECTION", "name of the collection"),
            "--chunk-size": ("DOCVEC_CHUNK_SIZE", "maximum number of tokens per chunk"),
            "--backend": ("DOCVEC_BACKEND", "local, ollama, openai or mlx"),
            "--embedding-host": ("DOCVEC_HOST", "address of the embedding service"),
            "--model": ("DOCVEC_MODEL", "embedding model of that service"),
            "--timeout": ("DOCVEC_TIMEOUT", "timeout of a request to that service, in seconds"),
        },
    )


def _run(name: str, options: Mapping[str, tuple[str, str]] = MappingProxyType({})) -> None:
    """Parse the arguments and serve; `options` maps extra options to a variable and a help text."""
    parser = argparse.ArgumentParser(
        prog=f"{name}-mcp", description=f"The {name} MCP server, on stdio unless --http is given."
    )
    parser.add_argument("--version", action="version", version=f"quinion {__version__}")
    parser.add_argument("--http", action="store_true", help="serve over HTTP instead")
    parser.add_argument("--host", help="address to listen on, with --http")
    parser.add_argument("--port", type=int, help="port to listen on, with --http")
    options = {**LOG_OPTIONS, **options}
    for option, (variable, explanation) in options.items():
        parser.add_argument(option, dest=variable, help=f"{explanation} ({variable})")
    arguments = parser.parse_args()
    if not arguments.http and (arguments.host or arguments.port):
        parser.error("--host and --port need --http")
    given = {
        variable: value
        for variable, _ in options.values()
        if (value := getattr(arguments, variable)) is not None
    }
    run_reporting(lambda: _serve(name, arguments, given))


def _serve(name: str, arguments: argparse.Namespace, given: dict[str, str]) -> None:
    settings = Settings.from_environment({**os.environ, **given})
    if arguments.http:
        from quinion.cli.serving import serve

        serve.run(settings, [name], arguments.host, arguments.port, None)
    else:
        from quinion.cli.serving import stdio

        stdio.run(settings, name)
