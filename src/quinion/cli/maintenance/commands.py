"""Options and help texts of the commands that check, repair and back up a home.

The module of each command is imported when the command runs.
"""

from pathlib import Path
from typing import Annotated

import typer

from quinion.cli.options import Json
from quinion.settings import Settings


def verify(
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what can be repaired and report it.")
    ] = False,
    json: Json = False,
) -> None:
    """Check that registry, texts, originals and vectors are intact and consistent.

    The exit status is 1 if a problem is found. Records missing from the Chroma mirror are a
    warning.

    Example: quinion verify

    Example: quinion verify --repair
    """
    from quinion.cli.maintenance.verify import run

    raise typer.Exit(run(Settings.from_environment(), repair=repair, as_json=json))


def rebuild(json: Json = False) -> None:
    """Rebuild a damaged store and its Chroma mirror from the intact records of both.

    No text is embedded again. The old files are moved aside, not deleted. A background engine is
    stopped first; stop `quinion serve` yourself.

    Example: quinion rebuild
    """
    from quinion.cli.maintenance.rebuild import run

    raise typer.Exit(run(Settings.from_environment(), as_json=json))


def migrate(
    to: Annotated[
        str | None, typer.Option("--to", metavar="URL", help="Database to copy the home into.")
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="Database to copy into the home.")
    ] = None,
    json: Json = False,
) -> None:
    """Copy the store and the policy registry of the home into PostgreSQL, or back.

    No text is embedded again. The target must be empty; an interrupted migration is repeated with
    the same command. At the end all records are compared. A background engine is stopped first;
    stop `quinion serve` yourself. Other users see the arguments of commands: put the password into
    PGPASSWORD or ~/.pgpass.

    Example: quinion migrate --to postgresql://quinion@db.example.org/quinion
    """
    from quinion.cli.maintenance.migrate import run

    raise typer.Exit(run(Settings.from_environment(), to, from_, as_json=json))


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Archive to write.")],
    json: Json = False,
) -> None:
    """Back up the home into one file; servers may keep running.

    Example: quinion backup ~/quinion.tar
    """
    from quinion.cli.maintenance.backup import run_backup

    raise typer.Exit(run_backup(Settings.from_environment(), file, as_json=json))


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Archive of quinion backup.")],
    json: Json = False,
) -> None:
    """Restore a backup into an empty home.

    Example: quinion restore ~/quinion.tar
    """
    from quinion.cli.maintenance.backup import run_restore

    raise typer.Exit(run_restore(Settings.from_environment(), file, as_json=json))
