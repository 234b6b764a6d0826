"""`make bombs`: every bomb, and every hostile file of the corpus, through each tool that takes it.

Same as the tests, but it continues after a failure and writes the figures to the docs.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from mcp import MCPError

from quinion.embed.local.weights import prepare
from tests.contract.process import Home
from tests.hostile import bombs, report
from tests.hostile.corpus import hostile_files, take
from tests.hostile.serving import TAKEN, Outcome, Servers, run_servers


def main() -> None:
    """Run as `python -m tests.hostile.explode`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="these bombs alone")
    parser.add_argument("--corpus", action="store_true", help="the corpus instead of the bombs")
    given = parser.parse_args()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        home = Home(Path(name, "home"), Path(name))
        home.path.mkdir()
        prepare(home.path / "models")
        with run_servers(home) as servers:
            if given.corpus:
                lines = _try_corpus(servers, home.files, failures)
            else:
                lines = _try_bombs(servers, home.files, given.names or bombs.NAMES, failures)
    print("\n".join((*lines, *failures)))
    report.write_part("corpus" if given.corpus else "bombs", lines)
    sys.exit(bool(failures))


def _try_bombs(
    servers: Servers, folder: Path, names: Iterable[str], failures: list[str]
) -> list[str]:
    rows = []
    for name in names:
        path = bombs.make(folder, name)
        outcomes = dict(_try(servers, path, failures))
        size = path.stat().st_blocks * 512
        path.unlink()
        rows.append(
            (
                f"`{name}`",
                f"{size / 1000:,.0f}",
                *(outcomes[server].said if server in outcomes else "" for server in TAKEN),
                f"{max((each.seconds for each in outcomes.values()), default=0):.0f}",
                f"{max((each.peak for each in outcomes.values()), default=0) / 1e6:,.0f}",
            )
        )
    return report.table(("bomb", "kB", *TAKEN, "s", "MB"), report.keep_rows("bombs", rows))


def _try_corpus(servers: Servers, folder: Path, failures: list[str]) -> list[str]:
    corpus = os.environ["QUINION_CORPUS"]
    said: Counter[tuple[str, str]] = Counter()
    worst: dict[str, tuple[float, int]] = dict.fromkeys(TAKEN, (0.0, 0))
    count = 0
    for file in hostile_files(corpus):
        count += 1
        for path in take(file, folder):
            for server, outcome in _try(servers, path, failures):
                said[server, outcome.said] += 1
                seconds, peak = worst[server]
                worst[server] = max(seconds, outcome.seconds), max(peak, outcome.peak)
    rows = (
        (
            server,
            "; ".join(f"{n} {what}" for (who, what), n in said.most_common() if who == server),
            f"{worst[server][0]:.0f}",
            f"{worst[server][1] / 1e6:,.0f}",
        )
        for server in TAKEN
    )
    return [
        f"{count} files, {said.total():,} calls, {len(failures)} failures.",
        "",
        *report.table(("server", "answers", "s", "MB"), rows),
    ]


def _try(servers: Servers, path: Path, failures: list[str]) -> Iterator[tuple[str, Outcome]]:
    for server, extensions in TAKEN.items():
        if path.suffix not in extensions:
            continue
        try:
            outcome = servers.give(server, path)
        except (AssertionError, MCPError, TimeoutError) as error:
            failures.append(f"{path.name}: {server}: {error!r}")
            continue
        print(f"{path.name:40} {server:15} {outcome.seconds:6.1f} s", end=" ")
        print(f"{outcome.peak / 1e6:6.0f} MB {outcome.said} {outcome.message[:90]}", flush=True)
        if not outcome.is_within_limits:
            failures.append(f"{path.name}: {server}: {outcome}")
        yield server, outcome


if __name__ == "__main__":
    main()
