"""Sample of `make crash`: operations killed and failed at a few points."""

from pathlib import Path

import pytest

from tests.crash.dying import FAULTS, KILLS, OUTAGES, tally
from tests.crash.layer import why_not
from tests.crash.scenes import SCENES
from tests.redis_server import PROGRAM

WHY_NOT = why_not()

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT),
]

PLAYABLE = [name for name, scene in SCENES.items() if PROGRAM or not scene.redis]
SEED = 1


@pytest.mark.parametrize(
    "scene",
    ["document-store ingest", "docvec index a changed file", "doclibrary add", "policy-kb reindex"],
)
def test_a_kill_before_the_answer_leaves_all_or_nothing(scene: str, models: Path) -> None:
    found = tally(KILLS, scene, 1, SEED, models)
    assert found.flaws == []
    assert (found.points, found.acknowledged) == (1, 0)
    assert found.reads > 20, "the operation was hardly read while it ran"


@pytest.mark.parametrize("scene", PLAYABLE)
def test_a_kill_at_any_change_of_a_file_leaves_all_or_nothing(scene: str, models: Path) -> None:
    found = tally(KILLS, scene, 4, SEED, models)
    assert found.flaws == []
    assert found.points == 4


@pytest.mark.parametrize(
    "scene", ["document-store ingest", "policy-kb reindex", "docvec index new files"]
)
def test_a_disk_that_fails_is_an_error_and_leaves_all_or_nothing(scene: str, models: Path) -> None:
    found = tally(FAULTS, scene, 1, SEED, models)
    assert found.flaws == []


@pytest.mark.skipif(not PROGRAM, reason="redis-server is not installed")
@pytest.mark.parametrize("scene", ["policy-kb reindex on redis", "policy-kb supersede on redis"])
def test_a_redis_that_fails_is_an_error_and_leaves_all_or_nothing(scene: str, models: Path) -> None:
    assert tally(OUTAGES, scene, 2, SEED, models).flaws == []
