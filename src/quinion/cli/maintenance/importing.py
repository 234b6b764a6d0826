"""`quinion import chroma`: import the records of a Chroma database into the store."""

from dataclasses import asdict
from typing import Annotated

import typer

from quinion.cli.options import Json, print_result
from quinion.daemon.client import stop_engine
from quinion.home import hold_home, store_place
from quinion.servers.document_store import records as document_store
from quinion.servers.policy_kb import records as policy_kb
from quinion.settings import Settings
from quinion.store.rebuild import ImportReport, import_into

IMPORTABLE = {**document_store.IMPORTABLE, **policy_kb.IMPORTABLE}
MOST_NAMED = 5


app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def _group() -> None:
    """Import data written by other programs."""


@app.command("chroma")
def import_chroma(
    source: Annotated[
        str, typer.Argument(metavar="PATH|URL", help="Folder or URL of the Chroma database.")
    ],
    json: Json = False,
) -> None:
    """Import the records of a Chroma database, with their embeddings.

    Imports the collections of the Document Store and the Policy KB, as other programs or the
    mirror of another home wrote them. Records that are already in the store are not changed. A
    background engine is stopped first; stop `quinion serve` yourself.

    Example: quinion import chroma /data/chroma
    """
    raise typer.Exit(run(Settings.from_environment(), source, as_json=json))


def run(settings: Settings, source: str, *, as_json: bool) -> int:
    """Import the records and print a report; return 1 if any was not imported."""
    stop_engine(settings.home)
    with hold_home(settings):
        report = import_into(store_place(settings), source, IMPORTABLE)
    print_result(as_json, asdict(report), "\n".join(_describe(report)))
    done = report.collections.values()
    return int(any(one.unreadable or one.invalid or one.failure for one in done))


def _describe(report: ImportReport) -> list[str]:
    lines = []
    for name, one in report.collections.items():
        for number, what in (
            (one.imported, "imported"),
            (one.present, "already in the store"),
            (one.different, "differ from the version in the store, which was kept"),
            (len(one.unreadable), f"unreadable, not imported: {_name(one.unreadable)}"),
            (
                len(one.invalid),
                f"without required metadata, not imported: {_name(one.invalid)}",
            ),
        ):
            if number:
                lines.append(f"{name}: {number:,} records {what}")
        if one.failure:
            lines.append(f"{name}: import stopped early: {one.failure}")
    lines += [f"{name}: ignored, not a collection of quinion" for name in report.ignored]
    return lines or ["No collections to import."]


def _name(ids: list[str]) -> str:
    return ", ".join(ids[:MOST_NAMED])
