"""Official conformance suite: every scored scenario of both requirement sets passes.

The results are compared with the figures in docs/conformance.md, to keep these up to date.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conformance.conftest import TOKEN
from tests.conformance.tools import DOCUMENT, HERE, SUITE, run

PATIENCE_S = 150.0


@dataclass(frozen=True)
class Run:
    """Result of the suite: check outcomes by scenario, and the scenarios that are not scored."""

    status: int
    printed: str
    scenarios: dict[str, Counter[str]]
    unscored: dict[str, str]

    @property
    def scored(self) -> dict[str, Counter[str]]:
        return {name: ends for name, ends in self.scenarios.items() if name not in self.unscored}

    def fails(self, scenario: str) -> bool:
        """Whether a check of the scenario failed, or none was run."""
        ends = self.scenarios[scenario]
        return bool(ends["FAILURE"]) or not ends.total()


@pytest.fixture(scope="module", params=["2025-11-25", "2026-07-28"])
def revision(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def outcome(revision: str, node: str, app: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp(revision)
    ended = run(
        *(node, "--import", HERE / "suite" / "token.mjs", SUITE),
        *("server", "--url", f"{app}/mcp", "--requirements", revision, "--output-dir", folder),
        patience_s=PATIENCE_S,
        variables={"MCP_API_KEY": TOKEN},
    )
    return Run(
        ended.returncode,
        ended.stdout + ended.stderr,
        {_scenario(path): _ends(path) for path in sorted(folder.iterdir())},
        dict(re.findall(r"^  [✓✗] (\S+) \((\S+)\)$", ended.stdout, re.MULTILINE)),
    )


def _scenario(folder: Path) -> str:
    found = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", folder.name)
    assert found, folder.name
    return found[1]


def _ends(folder: Path) -> Counter[str]:
    return Counter(check["status"] for check in json.loads((folder / "checks.json").read_text()))


def test_every_scored_scenario_passes_without_a_warning(outcome: Run) -> None:
    assert outcome.status == 0, outcome.printed
    assert outcome.scored
    for name, ends in outcome.scored.items():
        assert not outcome.fails(name), outcome.printed
        assert not ends["WARNING"], name


def test_what_does_not_count_passes_too_but_for_an_extension_that_we_do_not_offer(
    outcome: Run,
) -> None:
    failing = {name for name in outcome.unscored if outcome.fails(name)}
    assert all(name.startswith("tasks-") for name in failing), outcome.printed


def test_the_figures_in_the_documentation_are_those_of_the_run(outcome: Run, revision: str) -> None:
    passed = [name for name in outcome.scored if not outcome.fails(name)]
    checks = sum(ends["SUCCESS"] for ends in outcome.scored.values())
    lines = [f"| {revision} | {len(passed)} of {len(outcome.scored)} | {checks} |"]
    for name, reason in outcome.unscored.items():
        ends = outcome.scenarios[name]
        lines.append(
            f"| {revision} | `{name}` | {reason} "
            f"| {ends['SUCCESS']} | {ends['WARNING']} | {ends['FAILURE']} |"
        )
    documented = DOCUMENT.read_text()
    assert [line for line in lines if line not in documented] == []
