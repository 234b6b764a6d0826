from collections.abc import Iterator

import pytest

from tests.unit.store import stores


@pytest.fixture(autouse=True)
def _close_stores() -> Iterator[None]:
    """Close the stores of a test, as each may have a process."""
    before = len(stores.opened)
    yield
    while len(stores.opened) > before:
        stores.opened.pop().close()
