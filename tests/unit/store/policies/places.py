"""Places of a registry: SQLite, Redis and PostgreSQL."""

from pathlib import Path

import pytest

from quinion.store.policies import PolicyRegistry, open_registry
from tests.postgres_server import needs_postgres
from tests.redis_server import PLACES

ALL_PLACES = (*PLACES, pytest.param("postgres", marks=[pytest.mark.slow, needs_postgres]))


def open_at(path: Path, address: str) -> PolicyRegistry:
    """Open the registry at an address; an empty one means SQLite at the path."""
    if address.startswith("postgresql:"):
        return open_registry(path, database_url=address)
    return open_registry(path, address or None)
