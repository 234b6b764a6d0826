"""The short form of `make cluster`."""

from pathlib import Path

import anyio
import pytest

from tests.cluster.harness import Size, measure, open_cluster
from tests.nginx_server import needs_nginx
from tests.postgres_server import needs_postgres

SIZE = Size(servers=2, workers=2, clients=6, seconds=60, kill_each_s=10)


@needs_nginx
@needs_postgres
@pytest.mark.timeout(600)
def test_nothing_acknowledged_is_lost_or_stored_twice_while_parts_are_killed(
    tmp_path: Path, models: Path
) -> None:
    with open_cluster(SIZE, tmp_path, models) as cluster:
        result = anyio.run(measure, cluster, SIZE)
    print("\n".join(result.lines()))
    assert result.problems == []
    assert result.documents
    assert result.kills.total() >= 3
