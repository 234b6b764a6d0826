"""`quinion import chroma`: what another program wrote into a Chroma, taken into the store."""

from dataclasses import asdict
from typing import Annotated

import typer

from quinion.cli.options import Json, tell
from quinion.daemon.client import stop_engine
from quinion.home import hold_home, store_place
from quinion.servers.document_store import records as document_store
from quinion.servers.policy_kb import records as policy_kb
from quinion.settings import Settings
from quinion.store.rebuild import ImportReport, import_into

IMPORTABLE = {**document_store.IMPORTABLE, **policy_kb.IMPORTABLE}
MOST_NAMED = 5


app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Take over what other programs wrote."""


@app.command("chroma")
def import_chroma(
    source: Annotated[
        str, typer.Argument(metavar="PATH|URL", help="The folder of a Chroma, or its address.")
    ],
    json: Json = False,
) -> None:
    """Take over what another program wrote into a Chroma, without embedding anything again.

    The collections of the Document Store's and the Policy KB's contracts are imported, and those
    of another home's mirror. What the store has already is left as it is. An engine in the
    background is stopped first; `quinion serve` has to be stopped by hand.

    Example: quinion import chroma /data/chroma
    """
    raise typer.Exit(run(Settings.from_environment(), source, as_json=json))


def run(settings: Settings, source: str, *, as_json: bool) -> int:
    """Import it; 1 when something could not be imported."""
    stop_engine(settings.home)
    with hold_home(settings):
        report = import_into(store_place(settings), source, IMPORTABLE)
    tell(as_json, asdict(report), "\n".join(_describe(report)))
    done = report.collections.values()
    return int(any(one.unreadable or one.invalid or one.failure for one in done))


def _describe(report: ImportReport) -> list[str]:
    lines = []
    for name, one in report.collections.items():
        for number, what in (
            (one.imported, "imported"),
            (one.present, "were in the store already"),
            (one.different, "are there in another version, which was kept"),
            (len(one.unreadable), f"can't be read and were left out: {_name(one.unreadable)}"),
            (
                len(one.invalid),
                f"lack metadata that the contract requires and were left out: {_name(one.invalid)}",
            ),
        ):
            if number:
                lines.append(f"{name}: {number:,} records {what}")
        if one.failure:
            lines.append(f"{name}: could not be imported to its end: {one.failure}")
    lines += [f"{name}: ignored, it is not a collection of quinion" for name in report.ignored]
    return lines or ["There is nothing to import."]


def _name(ids: list[str]) -> str:
    return ", ".join(ids[:MOST_NAMED])
