"""`quinion stop`: stop the background engine."""

import json

import typer

from quinion.daemon.client import stop_engine
from quinion.servers.registry import CATALOG
from quinion.settings import Settings


def run(settings: Settings, *, as_json: bool) -> int:
    """Stop the engine and wait until it exits; its clients start a new one when needed."""
    homes = dict.fromkeys(entry.settings(settings).home for entry in CATALOG.values())
    stopped = [str(home) for home in homes if stop_engine(home)]
    if as_json:
        typer.echo(json.dumps({"stopped": stopped}))
    else:
        typer.echo("\n".join(f"Stopped: {home}" for home in stopped) or "No engine is running.")
    return 0
