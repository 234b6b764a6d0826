"""Groups of commands in `quinion`, and the panels of its help."""

from importlib import import_module
from typing import Any

import typer.main
from typer.core import TyperGroup

DOCUMENTS, SERVERS, MAINTENANCE = "Documents", "Servers and clients", "Maintenance"
"""Panels that group the commands in `quinion --help`."""

GROUPS = {
    "document": (DOCUMENTS, "Manage the ingested documents of planning applications."),
    "policy": (DOCUMENTS, "Manage policies, their revisions and texts."),
    "library": (DOCUMENTS, "Manage a library of technical PDFs."),
    "model": (MAINTENANCE, "Show or download the embedding model."),
    "import": (MAINTENANCE, "Import data written by other programs."),
}
"""Command groups with their panel and help; each is a module or package of `quinion.cli`."""
MODULES = {
    "document": "documents.manage",
    "import": "maintenance.importing",
    "model": "maintenance.model",
}
"""Groups whose module is not the package of the same name."""


class Commands(TyperGroup):
    """Top-level commands; a command group is imported when it runs, not when it is listed."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[0] in GROUPS:
            return args[0], load_group(args[0]), args[1:]
        return super().resolve_command(ctx, args)


def load_group(name: str) -> Any:
    """Load the commands of a group in the form that typer runs."""
    return typer.main.get_command(import_module(f"quinion.cli.{MODULES.get(name, name)}").app)
