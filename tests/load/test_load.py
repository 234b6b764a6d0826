"""Sixty-four concurrent clients: no failures except "busy", and no growth."""

import pytest

from tests.contract.conftest import NewHome, models, new_home  # noqa: F401 - fixtures here too
from tests.load.loading import Report, measure

LASTING_S = 30.0
MOST_SLOWER = 5.0
MOST_LOST_MIB = 100.0
MOST_MORE_HANDLES = 20.0


def judge(report: Report) -> list[str]:
    """Yield the problems of a report."""
    problems = []
    if report.failures:
        problems.append(f"{len(report.failures)} calls failed, the first: {report.failures[0]}")
    if report.slower > MOST_SLOWER:
        problems.append(f"searches are {report.slower:.1f} times slower under load")
    if report.lost_mib > MOST_LOST_MIB:
        problems.append(f"{report.lost_mib:.0f} MiB more than a new process needs")
    if report.handle_growth > MOST_MORE_HANDLES:
        problems.append(f"open files grew by {report.handle_growth:.0f}")
    return problems


@pytest.mark.timeout(300)
def test_sixty_four_clients_are_all_served(new_home: NewHome) -> None:  # noqa: F811
    report = measure(new_home(), LASTING_S)
    print("\n".join(report.lines()))
    assert judge(report) == []
    assert report.calls > 500, "hardly anything was done"
