"""`quinion rebuild`: one copy of all records made anew from the other."""

from contextlib import ExitStack
from dataclasses import asdict

from quinion import __version__
from quinion.cli.options import tell
from quinion.errors import InvalidInput
from quinion.host.attach import ask_to_leave
from quinion.pipeline.engine import ledger_folder
from quinion.servers.catalog import CATALOG
from quinion.settings import Settings
from quinion.store.chroma import Place
from quinion.store.lock import hold
from quinion.store.rebuilding import Rebuilt, rebuild


def run(settings: Settings, *, as_json: bool) -> int:
    """Do it, for each folder that a server keeps; 1 when something is lost or amiss."""
    homes = {mine.home: mine for mine in (one.settings(settings) for one in CATALOG.values())}
    done = {str(home): _rebuild(mine) for home, mine in homes.items()}
    lines = [line for home, one in done.items() for line in _word(home, one)]
    tell(as_json, {home: asdict(one) for home, one in done.items()}, "\n".join(lines))
    return int(any(one.lost or one.problems for one in done.values()))


def _rebuild(settings: Settings) -> Rebuilt:
    place = Place(settings.chroma_folder, settings.chroma_url)
    folder = ledger_folder(settings.home, place)
    if folder is None:
        raise InvalidInput("The vector store is in memory: there is nothing to make anew.")
    ask_to_leave(settings.home)
    with ExitStack() as stack:
        stack.enter_context(hold(settings.home, __version__))
        if place.folder and not place.url:
            stack.enter_context(hold(place.folder, __version__))
        return rebuild(folder, place)


def _word(home: str, done: Rebuilt) -> list[str]:
    lines = [f"{home}: {done.records:,} records, in the ledger and in Chroma."]
    lines += [f"Moved aside: {path}" for path in done.aside]
    if done.unreadable:
        lines.append(f"What only Chroma had, if anything, is there still: {done.unreadable}")
    lines += [f"Left there, because it is another program's: {name}" for name in done.others]
    lines += [f"Lost, because no whole copy is left: {one}" for one in done.lost]
    return lines + [f"Still amiss: {one}" for one in done.problems]
