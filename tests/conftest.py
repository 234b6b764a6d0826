"""Configuration shared by all tests."""

from pathlib import Path

import pytest
from hypothesis import settings

SLOW_FOLDERS = {
    *("browser", "cluster", "conformance", "crash", "doors", "hostile", "load", "packaging"),
}
"""Folders of tests that `make test` leaves to `make test-all`."""

# A slow write on a busy machine is not a failure; pytest-timeout ends tests that hang.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--postgres", action="store_true", help="keep the stores of contract tests in PostgreSQL"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the slow folders. Files with slow tests come first: with several
    processes, a long file must not be the last."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and item.path.relative_to(here).parts[0] in SLOW_FOLDERS:
            item.add_marker(pytest.mark.slow)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
