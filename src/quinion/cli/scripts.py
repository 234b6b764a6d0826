"""The console scripts of single servers: stdio by default, `--http` for HTTP.

With `argparse`, because desktop clients start these all day and it is there already.
"""

import argparse

from quinion import __version__
from quinion.cli.report import run_reporting
from quinion.settings import Settings


def document_store() -> None:
    """`document-store-mcp`."""
    _run("document-store")


def policy_kb() -> None:
    """`policy-kb-mcp`."""
    _run("policy-kb")


def _run(name: str) -> None:
    parser = argparse.ArgumentParser(
        prog=f"{name}-mcp", description=f"The {name} MCP server, on stdio unless --http is given."
    )
    parser.add_argument("--version", action="version", version=f"quinion {__version__}")
    parser.add_argument("--http", action="store_true", help="serve over HTTP instead")
    parser.add_argument("--host", help="address to listen on, with --http")
    parser.add_argument("--port", type=int, help="port to listen on, with --http")
    arguments = parser.parse_args()
    if not arguments.http and (arguments.host or arguments.port):
        parser.error("--host and --port need --http")
    run_reporting(lambda: _serve(name, arguments))


def _serve(name: str, arguments: argparse.Namespace) -> None:
    settings = Settings.from_environment()
    if arguments.http:
        from quinion.cli import serve

        serve.run(settings, [name], arguments.host, arguments.port, None)
    else:
        from quinion.cli import stdio

        stdio.run(settings, name)
