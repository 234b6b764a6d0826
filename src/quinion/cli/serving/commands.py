"""Options and help texts of commands for processes other than servers.

The module of each command is imported when the command runs.
"""

from typing import Annotated

import typer

from quinion.cli.options import Json, override
from quinion.settings import Settings


def stop(json: Json = False) -> None:
    """Stop the background engine, which also exits by itself when idle.

    No data is lost. A connected client starts a new engine with its next call.

    Example: quinion stop
    """
    from quinion.cli.maintenance.stop import run

    raise typer.Exit(run(Settings.from_environment(), as_json=json))


def worker(
    log_level: Annotated[
        str | None, typer.Option(help="debug, info, warning or error (QUINION_LOG_LEVEL).")
    ] = None,
    log_format: Annotated[
        str | None, typer.Option(help="text or json (QUINION_LOG_FORMAT).")
    ] = None,
) -> None:
    """Ingest the documents that servers hand over, on any host, until stopped.

    QUINION_DATABASE_URL and QUINION_BLOBS_URL must be those of the servers. QUINION_WORKERS is the
    number of processes that read documents here.

    Example: quinion worker
    """
    from quinion.cli.serving.worker import run

    variables = override(QUINION_LOG_LEVEL=log_level, QUINION_LOG_FORMAT=log_format)
    run(Settings.from_environment(variables))
