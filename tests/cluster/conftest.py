"""Database, bucket and homes of a small cluster."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import models, new_home, shared
from tests.postgres_server import PROGRAMS, WHY_NOT, PostgresServer, postgres_server

__all__ = ["models", "new_home", "shared"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    if not PROGRAMS:
        pytest.skip(WHY_NOT)
    with postgres_server() as server:
        yield server


@pytest.fixture
def variables(postgres: PostgresServer, tmp_path: Path, models: Path) -> dict[str, str]:
    """Settings of all servers and workers."""
    return {
        "QUINION_DATABASE_URL": postgres.new_database(),
        "QUINION_BLOBS_URL": f"file://{tmp_path}/shared",
        "QUINION_WORKERS": "1",
    }
