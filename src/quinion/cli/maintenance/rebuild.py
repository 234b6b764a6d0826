"""`quinion rebuild`: rebuild a damaged store, its indexes and its Chroma mirror."""

from dataclasses import asdict

from quinion.cli.options import print_result
from quinion.daemon.client import stop_engine
from quinion.home import hold_home, store_place
from quinion.servers.registry import CATALOG
from quinion.settings import Settings
from quinion.store.rebuild import RebuildReport, rebuild


def run(settings: Settings, *, as_json: bool) -> int:
    """Rebuild each server's home; return 1 if records are lost or problems remain."""
    homes = {mine.home: mine for mine in (one.settings(settings) for one in CATALOG.values())}
    done = {str(home): _rebuild(mine) for home, mine in homes.items()}
    lines = [line for home, one in done.items() for line in _describe(home, one)]
    print_result(as_json, {home: asdict(one) for home, one in done.items()}, "\n".join(lines))
    return int(any(one.lost or one.problems for one in done.values()))


def _rebuild(settings: Settings) -> RebuildReport:
    stop_engine(settings.home)
    with hold_home(settings):
        return rebuild(store_place(settings))


def _describe(home: str, report: RebuildReport) -> list[str]:
    lines = [f"{home}: {report.records:,} records."]
    lines += [f"Moved aside: {path}" for path in report.aside]
    lines += [f"Lost, no intact copy left: {one}" for one in report.lost]
    return lines + [f"Remaining problem: {one}" for one in report.problems]
