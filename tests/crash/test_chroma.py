"""Sample of the Chroma part of `make crash`: a folder or a server that fails."""

from pathlib import Path

import pytest

from tests.crash.chroma_damage import DAMAGE
from tests.crash.dying import CHROMA_DAMAGE, CHROMA_OUTAGES, tally
from tests.crash.layer import why_not

WHY_NOT = why_not()

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT),
]

SEED = 2
AT_THE_START, BEFORE, AFTER = 3, 3, 2
"""Outages by scene, and by request."""


@pytest.mark.parametrize(
    "scene",
    [
        "document-store ingest",
        "docvec clear",
        "policy-kb reindex",
    ],
)
def test_a_deleted_or_damaged_chroma_folder_costs_no_call_and_is_rebuilt(
    scene: str, models: Path
) -> None:
    found = tally(CHROMA_DAMAGE, scene, 1, SEED, models)
    assert found.flaws == []
    assert found.points == len(DAMAGE) + 1


@pytest.mark.parametrize("scene", ["document-store ingest", "policy-kb supersede"])
def test_a_chroma_server_that_fails_costs_no_call_and_gets_all_records_later(
    scene: str, models: Path
) -> None:
    found = tally(CHROMA_OUTAGES, scene, 1, SEED, models)
    assert found.flaws == []
    assert found.points == AT_THE_START + BEFORE + AFTER
