"""`quinion import chroma`: what another program wrote into a Chroma, taken into the store."""

from dataclasses import asdict
from typing import Annotated

import typer

from quinion.cli.options import Json, tell
from quinion.host.attach import ask_to_leave
from quinion.pipeline.home import hold_home, store_place
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
    ask_to_leave(settings.home)
    with hold_home(settings):
        report = import_into(store_place(settings), source, IMPORTABLE)
    tell(as_json, asdict(report), "\n".join(_describe(report)))
    return int(bool(report.unreadable or report.invalid or report.failed))


def _describe(report: ImportReport) -> list[str]:
    lines = [f"{name}: {count:,} records imported" for name, count in report.imported.items()]
    for name, count in report.present.items():
        different = report.different.get(name, 0)
        more = f", {different:,} of them in another version, which was kept" if different else ""
        lines.append(f"{name}: {count:,} records were in the store already{more}")
    for what, found in (
        ("can't be read", report.unreadable),
        ("lack metadata that the contract requires", report.invalid),
    ):
        for name, ids in found.items():
            named = ", ".join(ids[:MOST_NAMED])
            lines.append(f"{name}: {len(ids):,} records {what} and were left out: {named}")
    for name, why in report.failed.items():
        lines.append(f"{name}: could not be imported to its end: {why}")
    lines += [f"{name}: ignored, it is not a collection of quinion" for name in report.ignored]
    return lines or ["There is nothing to import."]
